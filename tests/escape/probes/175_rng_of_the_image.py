# class: image | kind: pair
# expect: run in two fresh sessions: nothing that libraries drew by chance while the image was baked is the same in both (keys, node, seeds, names)
import email.generator, multiprocessing, os, random, sqlite3, sys, tempfile, uuid
v = {'authkey': bytes(multiprocessing.current_process().authkey).hex(), 'node': uuid.getnode(), 'uuid1': str(uuid.uuid1()), 'Random': random.Random().random(), 'bits': random.getrandbits(64),
     'gauss': random.gauss(0, 1), 'sqlite': sqlite3.connect(':memory:').execute('select hex(randomblob(8))').fetchone()[0], 'boundary': email.generator._make_boundary(), 'mkdtemp': os.path.basename(tempfile.mkdtemp())}
if 'numpy' in sys.modules:
    import numpy as np; v |= {'normal': float(np.random.normal()), 'RandomState': float(np.random.RandomState().rand()), 'entropy': np.random.SeedSequence().entropy}
if 'sympy' in sys.modules: import sympy.core.random; v['sympy'] = sympy.core.random.rng.random()
if 'sklearn' in sys.modules: import sklearn.utils; v['sklearn'] = float(sklearn.utils.check_random_state(None).rand())
if 'pandas' in sys.modules: import pandas as pd; v['sample'] = list(pd.Series(range(10**6)).sample(3))
print('PAIR:', v)
