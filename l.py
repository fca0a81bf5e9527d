exec(open("/var/tmp/tirt/pre.py").read())
def t(f):
    try: print(f())
    except Exception as e: print(type(e).__name__, str(e)[:300])
im=tir.IndexMap.from_func(lambda i,j: [i//4,j,i%4])
X=tir.Var("X","int64")
t(lambda: [a.dtype for a in im.map_indices([i,j])]); t(lambda: [a.dtype for a in im.map_indices([X,X])])
t(lambda: im.map_indices([3,4])); t(lambda: im.map_shape([8,16])); t(lambda: im.map_ranges([R(0,8),R(0,16)]))
t(lambda: tir.IndexMap.from_func(lambda i: [i*2]).map_shape([8]))
t(lambda: tir.IndexMap.from_func(lambda i: [i*2+1]).map_shape([8]))
t(lambda: tir.IndexMap.from_func(lambda i: [i+1]).map_shape([8]))
t(lambda: tir.For(x, tir.IntImm("int64",0), tir.IntImm("int64",8), tir.ForKind.SERIAL, tir.Evaluate(0)).extent.dtype)
t(lambda: tir.For(x, 0, X, tir.ForKind.SERIAL, tir.Evaluate(0)).extent.dtype)
t(lambda: tir.For(X, 0, 8, tir.ForKind.SERIAL, tir.Evaluate(0)).extent.dtype)
t(lambda: tir.IterVar(R(0,8), X, 0).dom.extent.dtype)
t(lambda: tir.IterVar(R(0,tir.IntImm("int64",8)), x, 0).dom.extent.dtype)
t(lambda: bool(te.placeholder((3,)))); 
from tvm.script.printer.doc import OperationDoc, OperationKind, IdDoc
from tvm.script.printer import doc as D
from tvm.script.printer.doc_printer import to_python_script
t(lambda: to_python_script(OperationDoc(OperationKind.Add,[IdDoc("x")])))
t(lambda: to_python_script(OperationDoc(OperationKind.IfThenElse,[IdDoc("x")])))
t(lambda: to_python_script(OperationDoc(OperationKind.USub,[])))
t(lambda: to_python_script(OperationDoc(OperationKind.Add,[IdDoc("x")]*3)))
