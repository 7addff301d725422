"""``torch.optim``: placeholder until the whole arrives."""
from torchlike import engine
from torchlike.autograd import tape
class _Sgd:
    name="sgd"
    def lower(self, static, args):
        n=(len(args)-2)//3; lr,mom=args[-2].value,args[-1].value
        out=[]; bufs=[]
        import jax.numpy as jnp
        for p,g,b in zip(args[:n],args[n:2*n],args[2*n:3*n]):
            b=g if b is None else jnp.asarray(mom).astype(g.dtype)*b+g
            bufs.append(b); out.append(p-jnp.asarray(lr).astype(p.dtype)*b)
        return (*out,*bufs)
_SGD=_Sgd()
class SGD:
    def __init__(self,params,lr=1e-3,momentum=0.0):
        self.ps=list(params); self.lr=lr; self.mom=momentum; self.bufs=[None]*len(self.ps)
    def zero_grad(self):
        for p in self.ps: p.grad=None
    def step(self):
        ps=[tape.current(p) for p in self.ps]; gs=[tape.current(p._grad) for p in self.ps]
        outs=engine.record(_SGD,(),[*ps,*gs,*self.bufs,self.lr,self.mom])[1]
        n=len(ps)
        for p,v in zip(self.ps,outs[:n]): p._assign(v)
        self.bufs=outs[n:]
        engine.flush()
