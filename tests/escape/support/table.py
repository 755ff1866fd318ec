"""What is expected of each probe. One row per program, in one place.

    Row(number, want, ...)
        HELD     the last verdict printed is HELD
        INFO     HELD or INFO: accepted and documented
        READY    READY was printed; the rest is judged from outside, by `check`
        ENDED    no verdict needed: the run ends in one of `ends`
        LIMITED  HELD, or the run ends in one of `ends`
        DISK     HELD, or the run ends with "disk", in both cases not more than overshoot_mib over
        PAIR     the program runs in two sessions, one after the other; see `check`
        TWINS    the program runs in two sessions at the same time

    ends       in which the run may end; ok and error when nothing is said
    seconds    its wall clock limit
    check      further conditions: functions from checks.py
    then       a second piece of code for the same session; --from woken it sleeps in between
    files      brought to /mnt/data
    quiet      nothing else runs meanwhile: it measures, or it hurts its neighbours
    bare       False: never run without the sandbox
    beyond     deployments that cannot hold it, by a limit that docs/tiers.md names
"""

import dataclasses

from . import checks as c

HELD, INFO, READY, ENDED, LIMITED, DISK, PAIR, TWINS = (
    "HELD", "INFO", "READY", "ENDED", "LIMITED", "DISK", "PAIR", "TWINS")

FINE = ("ok", "error")
DEAD = ("crashed", "killed")
SECOND = 'print("SECOND %d" % (1 + 1))'
LARGE = 'print("SECOND %d" % (1 + (hashlib.sha256(ballast).hexdigest() == digest)))'


@dataclasses.dataclass
class Row:
    number: str
    want: str = HELD
    ends: tuple = FINE
    seconds: float = 10
    check: tuple = ()
    then: str = None
    files: tuple = ()
    quiet: bool = False
    bare: bool = True
    beyond: tuple = ()


TABLE = [
    # files and the root they are in
    Row("001"), Row("002"), Row("003"), Row("004"), Row("005"), Row("006"), Row("007"), Row("008"),
    Row("009"), Row("010"), Row("011"), Row("012"), Row("013"), Row("014"), Row("015"),
    # what the capture of files must survive
    Row("016", READY, check=(c.no_links_followed,)),
    Row("017"),
    Row("018", READY, check=(c.only_safe_text,)),
    Row("019", READY, check=(c.quick(4), c.only_regular_files)),
    Row("020", READY, check=(c.never_copied("sparse.bin"),)),
    Row("021", READY, check=(c.quick(15),)),
    Row("022", DISK, seconds=20, quiet=True),
    Row("023", READY, check=(c.names_are_exact,)),
    Row("024", DISK, seconds=20, quiet=True),
    Row("025", DISK, seconds=20, quiet=True),
    Row("026"),
    Row("027", READY, check=(c.captured("plain.txt"),)),
    # processes and privileges
    Row("028"), Row("029"), Row("030"), Row("031"), Row("032"), Row("033"), Row("034"),
    Row("035", HELD, ends=FINE + DEAD),
    Row("036"), Row("037"), Row("038"), Row("039"), Row("040"), Row("041"), Row("042"),
    # system calls
    Row("043"), Row("044"), Row("045"), Row("046"), Row("047"), Row("048"), Row("049"), Row("050"),
    Row("051"), Row("052"), Row("053"), Row("054"), Row("055"),
    Row("056", INFO),
    # network
    Row("057"), Row("058"), Row("059"), Row("060"), Row("061"),
    Row("062", TWINS),
    Row("063", bare=False),
    # the channel to the engine
    Row("064", READY, ends=FINE + DEAD, check=(c.nothing_forged,)),
    Row("065"),
    Row("066", ENDED, ends=DEAD, check=(c.quick(4),)),
    Row("067", seconds=5),
    # exhaustion
    Row("068", LIMITED, ends=("memory",)),
    Row("069", LIMITED, ends=("memory",)),
    Row("070", LIMITED, ends=("memory",), quiet=True),
    Row("071", LIMITED, ends=("memory",)),
    Row("072"), Row("073"), Row("074"), Row("075"),
    Row("076", ENDED, ends=("ok", "output_limit"), check=(c.output_is_cut, c.engine_below(96))),
    Row("077", ENDED, ends=("ok", "output_limit"), check=(c.output_is_cut, c.engine_below(96))),
    Row("078", ENDED, ends=("timeout",), seconds=2, check=(c.interrupted,)),
    Row("079", ENDED, ends=("timeout",), seconds=2),
    Row("080", ENDED, ends=("timeout",), seconds=2),
    Row("081", ENDED, ends=("timeout",), seconds=2),
    Row("082", ENDED, ends=("timeout",), seconds=2),
    Row("083", ENDED, ends=("timeout",), seconds=2),
    Row("084"),
    Row("085", LIMITED, ends=("timeout",), seconds=3, quiet=True),
    Row("086"),
    Row("087", READY, quiet=True, check=(c.others_answered,)),
    Row("088", READY, quiet=True, check=(c.others_answered,)),
    Row("089"),
    Row("090", ENDED, ends=("crashed",), check=(c.died_of_signal("SIGSEGV"), c.no_core_file)),
    Row("091", ENDED, ends=("crashed",), check=(c.died_of_signal("SIGSEGV"), c.no_core_file)),
    Row("092"),
    Row("093", ENDED, ends=("crashed",), check=(c.exited_with(41),)),
    Row("094", ENDED, check=(c.quick(4),)),
    # what the engine must be able to read
    Row("095", READY), Row("096", READY, ends=FINE + ("memory",), seconds=20),
    Row("097", READY),
    Row("098", READY, seconds=20), Row("099", READY),
    # nothing passes from one session to the next
    Row("100", PAIR, check=(c.values_differ,)),
    Row("101", PAIR, check=(c.values_shown,)),
    Row("102"), Row("103"), Row("104"),
    Row("105", PAIR), Row("106", PAIR), Row("107", PAIR),
    Row("108", TWINS),
    Row("109", INFO), Row("110", INFO),

    # disk space that hides from those who count it
    Row("111", DISK, seconds=20, quiet=True), Row("112", DISK, seconds=20, quiet=True),
    Row("113", DISK, seconds=20, quiet=True), Row("114", DISK, seconds=20, quiet=True),
    Row("115", DISK, seconds=20, quiet=True, beyond=("container-user",)),
    Row("116", LIMITED, ends=("memory",), seconds=20),
    Row("117", LIMITED, ends=("memory",)),
    # the channel to the engine, found and abused
    Row("118", ENDED, ends=FINE + DEAD, then=SECOND),
    Row("119", ENDED, ends=DEAD, check=(c.engine_below(96), c.quick(4))),
    Row("120", ENDED, ends=DEAD + ("timeout", "output_limit"), seconds=4,
        check=(c.engine_below(256),)),
    Row("121", ENDED, ends=FINE + DEAD + ("timeout",), seconds=4, then=SECOND,
        check=(c.second_is_honest,)),
    Row("122", ENDED, ends=FINE + DEAD + ("timeout",), seconds=4, then=SECOND,
        check=(c.second_is_honest,)),
    Row("123", ENDED, ends=DEAD, seconds=4),
    Row("124", ENDED, ends=FINE + DEAD, then=SECOND, check=(c.second_is_honest,)),
    Row("125", ENDED, ends=("crashed",), check=(c.died_of_signal("SIGKILL"), c.quick(4))),
    Row("126", ENDED, ends=DEAD + ("timeout",), seconds=3),
    Row("127", ENDED, ends=DEAD, check=(c.quick(4), c.not_a_success)),
    Row("128", ENDED, ends=("crashed",), check=(c.exited_with(3), c.quick(4))),
    Row("129", READY, then=SECOND, check=(c.second_is_right, c.quick(5))),
    Row("130", ENDED, ends=FINE + DEAD + ("timeout",), seconds=4, then=SECOND, bare=False),
    Row("131"), Row("132"), Row("133"),
    # more for the capture
    Row("134", READY, check=(c.no_links_followed, c.captured("plain.txt"))),
    Row("135", READY, check=(c.only_safe_text,)),
    Row("136", READY),
    Row("137", READY, check=(c.only_safe_text, c.quick(12))),
    Row("138", READY, files=("brought.txt",), check=(c.reported_deleted("brought.txt"),)),
    Row("139", READY),
    Row("140"), Row("141"),
    Row("142", LIMITED, ends=("memory",)),
    Row("143"), Row("144", bare=False),
    Row("145", ENDED, ends=("timeout",), seconds=2),
    Row("146", ENDED, ends=("timeout",), seconds=2, bare=False),
    Row("147", ENDED, ends=("timeout", "crashed"), seconds=2, quiet=True),
    Row("148"), Row("149", quiet=True),
    Row("150", ENDED, ends=("crashed", "timeout", "error", "killed"), seconds=4,
        then=SECOND, check=(c.second_is_honest,)),
    Row("151", ENDED, ends=("ok", "output_limit"), seconds=8, check=(c.engine_below(96),)),
    Row("152", ENDED, ends=("output_limit", "timeout"), check=(c.engine_below(96),)),
    Row("153", ENDED, ends=FINE + ("crashed", "memory"), seconds=20, then=SECOND,
        check=(c.second_is_honest,)),
    Row("154", ENDED, ends=("timeout",), seconds=2),
    Row("155", ENDED, ends=("timeout",), seconds=2),
    Row("156", ENDED, ends=("timeout",), seconds=2),
    Row("157", ENDED, ends=FINE + ("output_limit", "crashed"), check=(c.engine_below(96),)),
    Row("158", READY, ends=FINE + DEAD, seconds=5, then=SECOND, check=(c.second_is_honest,)),
    Row("159", READY, ends=FINE + DEAD, seconds=5, then=SECOND, check=(c.second_is_honest,)),
    Row("160", READY, seconds=5, then=SECOND, check=(c.second_is_right,)),
    Row("161", ENDED, ends=FINE + DEAD + ("timeout",), seconds=4, bare=False),
    Row("162"),
    Row("163", LIMITED, ends=("memory",)), Row("164", LIMITED, ends=("memory",)),
    Row("165"), Row("166", INFO), Row("167", INFO), Row("168"), Row("169"), Row("170"),
    Row("171", bare=False),
    # what an image, and sleeping on it, adds
    Row("172"), Row("173", INFO, quiet=True), Row("174"),
    Row("175", PAIR, check=(c.values_differ,)),
    Row("176", READY, ends=FINE + DEAD, then=SECOND, check=(c.second_is_honest,), bare=False),
    Row("177", READY, ends=FINE + DEAD, then=SECOND, check=(c.second_is_honest,), bare=False),
    Row("178", READY, ends=FINE + DEAD, then=SECOND, check=(c.second_is_honest,), bare=False),
    Row("179", READY, ends=FINE + DEAD, then=SECOND, check=(c.second_is_honest,), bare=False),
    Row("180", READY, ends=FINE + DEAD, then=SECOND, check=(c.second_is_honest,), bare=False),
    Row("181", READY, then=LARGE, check=(c.second_is_right,), quiet=True, bare=False),

    # other languages
    Row("182"), Row("183"), Row("184"),
]
