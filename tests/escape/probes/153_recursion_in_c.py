# class: dos | kind: server
# expect: recursion bombs for json, ast, pickle, marshal, compile, copy, repr: an error or a crash that is named, never a success and never an end of the engine
import ast, copy, io, json, marshal, os, pickle, sys
def nest(n):
    x = []
    for i in range(n): x = [x]
    return x
deep = nest(200000); bombs = {'json.loads': lambda: json.loads('[' * 10**6), 'json.dumps': lambda: json.dumps(deep), 'ast': lambda: ast.literal_eval('(' * 10**5), 'compile': lambda: compile('-' * 10**6 + '1', 'x', 'eval'), 'pickle': lambda: pickle.dumps(deep), 'unpickle': lambda: pickle.loads(b'\x80\x04' + b'(' * 10**6), 'marshal': lambda: marshal.dumps(deep), 'deepcopy': lambda: copy.deepcopy(deep), 'repr': lambda: repr(deep), 'eq': lambda: deep == nest(200000), 'hash': lambda: hash(eval('(' * 90 + ')' * 90))}
for n, f in bombs.items():
    try: f(); print(n, 'survived')
    except BaseException as e: print(n, type(e).__name__)
print('READY', flush=True); del deep
