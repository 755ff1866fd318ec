"""Fonts for matplotlib: a short list instead of a search, and fallbacks for CJK and symbols.

At its first import matplotlib opens every font of the system, which takes a tenth of a second and a
thread, and keeps the result in a file that a session does not have. So the file is written here,
with matplotlib's own fonts and the fallbacks. Code that asks for another family makes matplotlib
search after all, once.
"""
import builtins
import io
import json
import os
import sys

import matplotlib

VERSIONS = {"3.6": 330}  # of matplotlib's font list, by its own
FALLBACKS = {
    "/usr/share/fonts/truetype/wqy/wqy-microhei.ttc": "WenQuanYi Micro Hei",
    "/usr/share/fonts/truetype/ancient-scripts/Symbola_hint.ttf": "Symbola",
}
OWN = """  file|family|style|weight
DejaVuSans-BoldOblique|DejaVu Sans|oblique|700
DejaVuSans-Bold|DejaVu Sans|normal|700
DejaVuSans-Oblique|DejaVu Sans|oblique|400
DejaVuSansDisplay|DejaVu Sans Display|normal|400
DejaVuSansMono-BoldOblique|DejaVu Sans Mono|oblique|700
DejaVuSansMono-Bold|DejaVu Sans Mono|normal|700
DejaVuSansMono-Oblique|DejaVu Sans Mono|oblique|400
DejaVuSansMono|DejaVu Sans Mono|normal|400
DejaVuSans|DejaVu Sans|normal|400
DejaVuSerif-BoldItalic|DejaVu Serif|italic|700
DejaVuSerif-Bold|DejaVu Serif|normal|700
DejaVuSerif-Italic|DejaVu Serif|italic|400
DejaVuSerifDisplay|DejaVu Serif Display|normal|400
DejaVuSerif|DejaVu Serif|normal|400
STIXGeneralBolIta|STIXGeneral|italic|700
STIXGeneralBol|STIXGeneral|normal|700
STIXGeneralItalic|STIXGeneral|italic|400
STIXGeneral|STIXGeneral|normal|400
STIXNonUniBolIta|STIXNonUnicode|italic|700
STIXNonUniBol|STIXNonUnicode|normal|700
STIXNonUniIta|STIXNonUnicode|italic|400
STIXNonUni|STIXNonUnicode|normal|400
STIXSizFiveSymReg|STIXSizeFiveSym|normal|400
STIXSizFourSymBol|STIXSizeFourSym|normal|700
STIXSizFourSymReg|STIXSizeFourSym|normal|400
STIXSizOneSymBol|STIXSizeOneSym|normal|700
STIXSizOneSymReg|STIXSizeOneSym|normal|400
STIXSizThreeSymBol|STIXSizeThreeSym|normal|700
STIXSizThreeSymReg|STIXSizeThreeSym|normal|400
STIXSizTwoSymBol|STIXSizeTwoSym|normal|700
STIXSizTwoSymReg|STIXSizeTwoSym|normal|400
cmb10|cmb10|normal|400
cmex10|cmex10|normal|400
cmmi10|cmmi10|normal|400
cmr10|cmr10|normal|400
cmss10|cmss10|normal|400
cmsy10|cmsy10|normal|400
cmtt10|cmtt10|normal|400
"""
NOT_MATH = ((0x2E80, 0xFFFD), (0x1F000, 0x3FFFF))  # CJK, Hangul, emoji
is_short = False


def fallbacks():
    return [path for path in FALLBACKS if os.path.exists(path)]


def entry(path, family, style="normal", weight="400"):
    return {
        "fname": path,
        "name": family,
        "style": style,
        "variant": "normal",
        "weight": int(weight),
        "stretch": "normal",
        "size": "scalable",
        "__class__": "FontEntry",
    }


def list_short():
    """Writes the list where matplotlib will look for it, unless there is one."""
    global is_short
    version = VERSIONS.get(matplotlib.__version__.rpartition(".")[0])
    path = os.path.join(matplotlib.get_cachedir(), f"fontlist-v{version}.json")
    own = [line.split("|") for line in OWN.splitlines()[1:]]
    folder = os.path.join(matplotlib.get_data_path(), "fonts", "ttf")
    is_whole = {name + ".ttf" for name, *_ in own} <= set(os.listdir(folder))
    if version is None or not is_whole or os.path.exists(path):
        return
    fonts = [entry(f"fonts/ttf/{name}.ttf", *rest) for name, *rest in own]
    fonts += [entry(path, FALLBACKS[path]) for path in fallbacks()]
    content = {
        "_version": version,
        "_FontManager__default_weight": "normal",
        "default_size": None,
        "defaultFamily": {"ttf": "DejaVu Sans", "afm": "Helvetica"},
        "afmlist": [],
        "ttflist": fonts,
        "__class__": "FontManager",
    }
    with open(path, "w") as file:
        json.dump(content, file)
    is_short = True


def search_all(module, manager):
    global is_short
    is_short = False
    found = module.FontManager()
    manager.ttflist, manager.afmlist = found.ttflist, found.afmlist
    manager._findfont_cached.cache_clear()


def search_all_once():
    """For an image: nobody waits, and no session needs to search any more."""
    module = sys.modules["matplotlib.font_manager"]
    if is_short:
        search_all(module, module.fontManager)


def open_usual():
    """Draws with the fonts of ordinary plots, so that they are open already; from memory, for each
    would keep a descriptor otherwise."""
    sys.modules["matplotlib.font_manager"]._get_font.cache_clear()
    contents = {}
    open_file = builtins.open

    def open_in_memory(path, mode="r", *args, **options):
        if mode != "rb":
            return open_file(path, mode, *args, **options)
        if path not in contents:
            with open_file(path, mode) as file:
                contents[path] = file.read()
        return InMemory(path, contents[path])

    builtins.open = open_in_memory
    try:
        draw_text()
    finally:
        builtins.open = open_file


class InMemory(io.BytesIO):
    """A file that was read, and still knows its name."""

    def __init__(self, path, content):
        super().__init__(content)  # which is shared until somebody writes
        self.name = path


def draw_text():
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure()
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.plot([1, 2], label="text")
    axes.set_title("text \u6587 \u2603", weight="bold")
    axes.set_xlabel("text", style="italic")
    axes.set_ylabel("$\\alpha^2 + \\sum_i x_i$ \u6587 \u2603")
    axes.set_yscale("log")
    axes.legend()
    figure.savefig(io.BytesIO(), bbox_inches="tight")


def extend(module):
    """Every choice of fonts gets the fallbacks behind it, whatever rcParams or seaborn say."""
    manager_class = module.FontManager
    find_one, find_all = manager_class.findfont, manager_class._find_fonts_by_props
    extra = fallbacks()

    def knows(manager, prop):
        names = {font.name for font in manager.ttflist}
        families = module.FontProperties._from_any(prop).get_family()
        return all(
            any(name in names for name in manager._expand_aliases(family))
            if family in module.font_family_aliases
            else family in names
            for family in families
        )

    def findfont(self, prop, fontext="ttf", *args, **kwargs):
        if is_short and (fontext != "ttf" or not knows(self, prop)):
            search_all(module, self)
        return find_one(self, prop, fontext, *args, **kwargs)

    def _find_fonts_by_props(self, prop, fontext="ttf", *args, **kwargs):
        found = find_all(self, prop, fontext, *args, **kwargs)
        if fontext == "ttf":
            found += [path for path in extra if path not in found]
        return found

    manager_class.findfont = findfont
    manager_class._find_fonts_by_props = _find_fonts_by_props
    module.findfont = module.fontManager.findfont


def extend_math(module):
    """The same for text beside a formula, which matplotlib sets with the fonts of the formula."""
    fonts = module.UnicodeFonts
    get_glyph = fonts._get_glyph
    extra = fallbacks()

    def _get_glyph(self, fontname, font_class, sym):
        number = ord(sym) if len(sym) == 1 else 0
        if any(first <= number <= last for first, last in NOT_MATH):
            for path in extra:
                font = module.get_font(path)
                if font.get_char_index(number):
                    return font, number, False
        return get_glyph(self, fontname, font_class, sym)

    fonts._get_glyph = _get_glyph
