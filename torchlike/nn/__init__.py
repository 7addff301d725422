"""``torch.nn``: placeholder until the whole arrives."""
import math
from torchlike.tensor import Tensor
from torchlike.tensor.dispatch import register_plain
from torchlike.nn import functional
import torchlike as torch
class Parameter(Tensor):
    def __new__(cls, data, requires_grad=True):
        p = object.__new__(cls); p._value = data._value
        if requires_grad: p.requires_grad_()
        return p
register_plain(Parameter)
class Module:
    def __init__(self): self._parameters={}; self._modules={}; self.training=True
    def __setattr__(self,k,v):
        if isinstance(v,Parameter): self._parameters[k]=v
        elif isinstance(v,Module): self._modules[k]=v
        object.__setattr__(self,k,v)
    def parameters(self):
        yield from self._parameters.values()
        for m in self._modules.values(): yield from m.parameters()
    def __call__(self,*a): return self.forward(*a)
    def train(self,m=True): self.training=m; return self
    def eval(self): return self
def _u(shape,b): return Parameter(torch.empty(*shape).uniform_(-b,b))
class Linear(Module):
    def __init__(self,i,o):
        super().__init__(); b=1/math.sqrt(i); self.weight=_u((o,i),b); self.bias=_u((o,),b)
    def forward(self,x): return functional.linear(x,self.weight,self.bias)
class Conv2d(Module):
    def __init__(self,i,o,k,padding=0):
        super().__init__(); b=1/math.sqrt(i*k*k); self.weight=_u((o,i,k,k),b); self.bias=_u((o,),b); self.padding=padding
    def forward(self,x): return functional.conv2d(x,self.weight,self.bias,1,self.padding)
class CrossEntropyLoss(Module):
    def forward(self,x,y): return functional.cross_entropy(x,y)
