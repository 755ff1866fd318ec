"""From code to code objects: compiling, and deciding what needs IPython first.

Plain Python is compiled and that is all. IPython is asked to rewrite code only when it is not
Python, and something in it looks like a magic, a shell command or a question; or when it is one
line that opens with the name of a command which is not a variable.
"""
import _ast
import builtins
import sys

import _cicada_proxy as proxy
from _cicada_cell import Cell, inputs, namespace, remember_source

ONLY_AST = 0x400
FLAGS = 0x2000  # allow top-level await
FUTURES = 0x1FF0000
ASSIGNMENTS = (_ast.Assign, _ast.AugAssign, _ast.AnnAssign)

# Words that IPython takes for commands when they open a line and are not variables.
COMMANDS = frozenset(
    """alias alias_magic autoawait autocall automagic bookmark cat cd colors conda config cp debug
    dhist dirs doctest_mode ed edit env gui hist history killbgscripts ldir lf lk ll load load_ext
    loadpy logoff logon logstart logstate logstop ls lsmagic lx macro magic matplotlib mkdir mv
    notebook page pastebin pdb pdef pdoc pfile pinfo pinfo2 pip popd pprint precision prun psearch
    psource pushd pwd pycat pylab quickref recall rehashx reload_ext rep rerun reset reset_selective
    rm rmdir run save sc set_env sx system tb time timeit unalias unload_ext who who_ls whos xdel
    xmode""".split()
)


def parse(code):
    """(syntax tree, the code it came from), after IPython's rewriting if the code needs it."""
    try:
        tree = compile_tree(code)
    except SyntaxError as error:
        failure = error
    else:
        if len(tree.body) != 1 or not is_command(code):
            return call_lone_exit(tree), code
        failure = None
    rewritten = rewrite(code, failure)
    if rewritten == code and failure is not None:
        raise failure from None
    inputs[-1] = rewritten.rstrip("\n")
    remember_source(rewritten)
    return compile_tree(rewritten), rewritten


def compile_tree(code):
    return compile(code, Cell.name, "exec", FLAGS | ONLY_AST | Cell.futures, True)


def rewrite(code, failure):
    """The Python that IPython makes of the code, or the code itself if there is nothing to make."""
    if failure is not None and code.lstrip("\r\n")[0] in " \t":
        code = without_indent(code)
        try:
            compile_tree(code)
            return code
        except SyntaxError:
            pass
    if failure is None or is_command(code) or any(map(looks_magic, code.splitlines())):
        return proxy.shell().transform_cell(code)
    return code


def without_indent(code):
    """Code copied out of a block: the indentation of the first line is taken off all lines."""
    lines = code.split("\n")
    first = next(line for line in lines if line.strip())
    indent = first[: len(first) - len(first.lstrip())]
    return "\n".join(line.removeprefix(indent) for line in lines)


def looks_magic(line):
    """Whether this line could be why code is not Python but IPython."""
    line = line.strip()
    if line.startswith(("%", "!", "?", ",", ";", "/", ">>>", "In [")):
        return True
    if line.partition("#")[0].rstrip().endswith("?"):
        return True
    return any(part.lstrip().startswith(("!", "%")) for part in line.split("=")[1:])


def is_command(code):
    """One line that opens with a command's name, such as `ls -l`, if that is not a variable."""
    line = code.strip()
    length = 0
    while length < len(line) and (line[length].isalnum() or line[length] in "_.*"):
        length += 1
    word, rest = line[:length], line[length:].lstrip()
    if not word or "\n" in line or rest[:1] in ("=", ",", "(", "["):
        return False
    if word in namespace or hasattr(builtins, word):
        return False
    shell = proxy.existing()
    return word in COMMANDS if shell is None else shell.find_line_magic(word) is not None


def call_lone_exit(tree):
    """`exit` alone means exit(), as in IPython."""
    node = tree.body[0] if len(tree.body) == 1 else None
    if type(node) is _ast.Expr and type(node.value) is _ast.Name:
        name = node.value.id
        if name in ("exit", "quit") and name not in namespace:
            return compile_tree(name + "()")
    return tree


# ---- steps


def steps(code, show, show_more):
    """Code objects in order, each with what is to be called with its value, or None: `show` for the
    last expression, `show_more` for others that are to be shown."""
    tree, code = parse(code)
    shell = proxy.existing()
    if shell is not None:
        tree = shell.transform_ast(tree)
    found, statements = [], []
    shown = shown_expressions(tree, code)
    for node in tree.body:
        if node in shown:
            add_statements(found, statements)
            expression = compile(_ast.Expression(node.value), Cell.name, "eval", flags(), True)
            found.append((expression, show if node is shown[-1] else show_more))
        else:
            statements.append(node)
    add_statements(found, statements)
    Cell.names = {name for part, _ in found for name in part.co_names}
    return tuple(found)


def flags():
    return FLAGS | Cell.futures


def add_statements(found, statements):
    if statements:
        module = _ast.Module(statements[:], [])
        code = compile(module, Cell.name, "exec", flags(), True)
        Cell.futures |= code.co_flags & FUTURES
        found.append((code, None))
        statements.clear()


def shown_expressions(tree, code):
    """The expressions whose values are shown: the last statement if it is one, unless IPython was
    told otherwise."""
    body, mode = tree.body, interactivity()
    if not body or mode == "none":
        return []
    last = body[-1]
    if mode == "last_expr_or_assign" and type(last) in ASSIGNMENTS:
        target = last.targets[0] if type(last) is _ast.Assign else last.target
        if type(target) is _ast.Name:
            place = dict(lineno=last.lineno, col_offset=last.col_offset)
            last = _ast.Expr(_ast.Name(target.id, _ast.Load(), **place), **place)
            last.end_lineno, last.end_col_offset = body[-1].end_lineno, body[-1].end_col_offset
            body.append(last)
    if type(last) is not _ast.Expr or is_silenced(code, last):
        return []
    return [node for node in body if type(node) is _ast.Expr] if mode == "all" else [last]


def interactivity():
    """IPython's ast_node_interactivity, which code sets on the class or on the shell."""
    module = sys.modules.get("IPython.core.interactiveshell")
    if module is None:
        return "last_expr"
    mode = vars(module.InteractiveShell).get("ast_node_interactivity")
    shell = proxy.existing()
    return mode if isinstance(mode, str) else getattr(shell, "ast_node_interactivity", "last_expr")


def is_silenced(code, node):
    """A semicolon after the last expression keeps its value from being shown."""
    if ";" not in code:
        return False
    lines = code.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    line = lines[node.end_lineno - 1].encode("utf-8", "surrogatepass")
    return line[node.end_col_offset :].lstrip().startswith(b";")
