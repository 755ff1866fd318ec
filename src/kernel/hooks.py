"""Importing: our own imports are safe from the session's files, and some modules get a word in.

A session's directory comes first on sys.path, as it must. When the kernel itself needs a module for
the first time, a file token.py or random.py lying there must not be what it gets.
"""
import builtins
import sys
from _frozen_importlib_external import PathFinder

from _cicada_start import system_path

_import = builtins.__import__
before = {}  # module name -> function called with the module before it is executed
after = {}  # the same, after


def _is_shadow(name, module):
    """True for a module of the session that has the name of one of the standard library."""
    file = getattr(module, "__file__", None)
    return (
        name.partition(".")[0] in sys.stdlib_module_names
        and isinstance(file, str)
        and not file.startswith(system_path)
    )


def own_import(name):
    """Imports the system's module of that name, whatever the session has put in its way."""
    module = sys.modules.get(name)
    if module is not None and not _is_shadow(name, module):
        return module
    path, hidden = sys.path, {}
    for key, module in list(sys.modules.items()):
        if _is_shadow(key, module):
            hidden[key] = sys.modules.pop(key)
    sys.path = list(system_path)
    try:
        _import(name)
        return sys.modules[name]
    finally:
        sys.path = path
        sys.modules.update(hidden)


def _call(hook, module):
    try:
        hook(module)
    except Exception:
        pass  # a session's own module of that name, or a version we do not know: leave it alone


class Finder:
    """First on sys.meta_path. Finds nothing itself; wraps the execution of the modules above."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in before and name not in after:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or not hasattr(spec.loader, "exec_module"):
            return None
        loader = spec.loader
        execute = loader.exec_module

        def exec_module(module):
            del loader.exec_module
            if name in before:
                _call(before[name], module)
            execute(module)
            if name in after:
                _call(after[name], module)

        loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, Finder)
