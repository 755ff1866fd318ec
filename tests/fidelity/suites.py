"""What is run. Paths are below the directory of Debian's Python packages."""
import glob
import os

from guest import PACKAGES

# CPython's own regression tests, by module of the package `test`. Left out are those about the
# network (sockets, protocols, servers), other systems, graphics, sound, and building extensions.
CPYTHON = """
test___all__ test___future__ test__locale test__opcode test_abc
test_abstract_numbers test_aifc test_argparse test_array test_ast test_asyncgen test_atexit
test_audioop test_audit test_augassign test_base64 test_baseexception test_bdb test_binascii
test_binop test_bisect test_bool test_buffer test_bufio test_builtin test_bytes test_bz2
test_c_locale_coercion test_calendar test_call test_cgi test_cgitb test_charmapcodec test_class
test_cmath test_cmd test_cmd_line test_cmd_line_script test_code test_code_module
test_codeccallbacks test_codecencodings_cn test_codecencodings_hk test_codecencodings_iso2022
test_codecencodings_jp test_codecencodings_kr test_codecencodings_tw test_codecs test_codeop
test_collections test_colorsys test_compare test_compile test_compileall test_complex
test_concurrent_futures test_configparser test_contains test_context test_contextlib
test_contextlib_async test_copy test_copyreg test_coroutines test_cprofile test_crypt test_csv
test_ctypes test_curses test_dataclasses test_datetime test_dbm test_dbm_dumb test_dbm_gnu
test_dbm_ndbm test_decimal test_decorators test_defaultdict test_deque test_descr test_descrtut
test_dict test_dict_version test_dictcomps test_dictviews test_difflib test_dis test_doctest
test_doctest2 test_dynamic test_dynamicclassattribute test_eintr test_email test_enum
test_enumerate test_eof test_epoll test_errno test_except_star test_exception_group
test_exception_hierarchy test_exception_variations test_exceptions test_extcall test_faulthandler
test_fcntl test_file test_file_eintr test_filecmp test_fileinput test_fileio test_fileutils
test_finalization test_float test_flufl test_fnmatch test_fork1 test_format test_fractions
test_frame test_frozen test_fstring test_funcattrs test_functools test_future test_future3
test_future4 test_future5 test_gc test_generator_stop test_generators test_genericalias
test_genericclass test_genericpath test_genexps test_getopt test_getpass test_gettext test_glob
test_global test_grammar test_graphlib test_grp test_gzip test_hash test_hashlib test_heapq
test_hmac test_html test_htmlparser test_http_cookies test_imghdr test_imp test_import
test_importlib test_index test_inspect test_int test_int_literal test_interpreters test_io
test_ioctl test_ipaddress test_isinstance test_iter test_iterlen test_itertools test_json
test_keyword test_keywordonlyarg test_largefile test_linecache test_list test_listcomps
test_lltrace test_locale test_logging test_long test_longexp test_lzma test_mailbox test_mailcap
test_marshal test_math test_memoryio test_memoryview test_metaclass test_mimetypes test_minidom
test_mmap test_module test_modulefinder test_multibytecodec test_multiprocessing_fork
test_multiprocessing_forkserver test_multiprocessing_main_handling test_multiprocessing_spawn
test_named_expressions test_netrc test_ntpath test_numeric_tower test_opcache test_opcodes
test_openpty test_operator test_optparse test_ordered_dict test_os test_pathlib test_patma
test_pdb test_peepholer test_pep646_syntax test_pickle test_picklebuffer test_pickletools
test_pipes test_pkg test_pkgutil test_platform test_plistlib test_poll test_popen
test_positional_only_arg test_posix test_posixpath test_pow test_pprint test_print test_profile
test_property test_pstats test_pty test_pulldom test_pwd test_py_compile test_pyclbr test_pydoc
test_pyexpat test_queue test_quopri test_raise test_random test_range test_re test_readline
test_repl test_reprlib test_resource test_richcmp test_rlcompleter test_runpy test_sax test_sched
test_scope test_script_helper test_secrets test_select test_selectors test_set test_setcomps
test_shelve test_shlex test_shutil test_signal test_site test_slice test_sndhdr test_sort
test_source_encoding test_spwd test_stable_abi_ctypes test_stat test_statistics
test_strftime test_string test_string_literals test_stringprep test_strptime test_strtod
test_struct test_structseq test_subclassinit test_subprocess test_sunau test_sundry test_super
test_support test_symtable test_syntax test_sys test_sys_setprofile test_sys_settrace
test_sysconfig test_syslog test_tabnanny test_tarfile test_tempfile test_textwrap test_thread
test_threadedtempfile test_threading test_threading_local test_threadsignals test_time test_timeit
test_tokenize test_trace test_traceback test_tracemalloc test_tuple test_type_annotations
test_type_cache test_type_comments test_typechecks test_types test_typing test_ucn test_unary
test_unicode test_unicode_file test_unicode_file_functions test_unicode_identifiers
test_unicodedata test_unittest test_univnewlines test_unpack test_unpack_ex test_unparse
test_urllib test_urlparse test_userdict test_userlist test_userstring test_utf8_mode
test_utf8source test_uu test_uuid test_wait3 test_wait4 test_warnings test_wave
test_weakref test_weakset test_with test_xdrlib test_xml_dom_minicompat test_xml_etree
test_xml_etree_c test_xxtestfuzz test_yield_from test_zipapp test_zipfile test_zipfile64
test_zipimport test_zipimport_support test_zlib test_zoneinfo
test_asyncio.test_base_events test_asyncio.test_buffered_proto test_asyncio.test_context
test_asyncio.test_events test_asyncio.test_futures test_asyncio.test_futures2
test_asyncio.test_locks test_asyncio.test_pep492 test_asyncio.test_protocols
test_asyncio.test_queues test_asyncio.test_runners test_asyncio.test_selector_events
test_asyncio.test_streams test_asyncio.test_subprocess test_asyncio.test_taskgroups
test_asyncio.test_tasks test_asyncio.test_threads test_asyncio.test_timeouts
test_asyncio.test_transports test_asyncio.test_unix_events test_asyncio.test_waitfor
""".split()

# Single tests in these modules that need TCP and, when there is none, wait for it for ever or leave
# processes behind that disturb the others. They are run on neither side.
NETWORK = {
    "test_asyncio.test_streams": ["*.test_drain_raises"],
    "test_logging": ["*.test_listen_*"],
    **{f"test_multiprocessing_{how}": ["*TestListenerClient*", "*PicklingConnections*",
                                       "*TestTimeouts*", "*TestWait.test_wait_socket*"]
       for how in ("fork", "forkserver", "spawn")},
}

# Modules about files that are run a second time with their temporary directory in /mnt/data, and
# test_venv, which would fill /tmp and so disturb whoever is running beside it.
CPYTHON_DATA = """
test_bz2 test_csv test_dbm_dumb test_dbm_gnu test_fcntl test_file test_filecmp test_fileinput
test_fileio test_genericpath test_glob test_gzip test_import test_io test_largefile test_lzma
test_mailbox test_mmap test_os test_pathlib test_posix test_py_compile test_shelve test_shutil
test_stat test_tarfile test_tempfile test_unicode_file test_unicode_file_functions test_venv
test_zipfile test_zipimport
""".split()

# Modules that are run by the kernel itself, in the process that runs the user's code.
CPYTHON_KERNEL = """
test_abc test_argparse test_array test_ast test_asyncgen test_augassign test_base64 test_binascii
test_bisect test_bool test_bytes test_bz2 test_calendar test_cmath test_codecs test_collections
test_compare test_complex test_configparser test_contextlib test_copy test_coroutines test_csv
test_ctypes test_dataclasses test_datetime test_decimal test_decorators test_defaultdict
test_deque test_descr test_dict test_dictcomps test_dictviews test_difflib test_email test_enum
test_enumerate test_except_star test_exception_group test_extcall test_float test_fnmatch
test_format test_fractions test_fstring test_funcattrs test_functools test_generators test_genexps
test_getopt test_glob test_grammar test_graphlib test_gzip test_hashlib test_heapq test_hmac
test_html test_int test_io test_isinstance test_iter test_itertools test_json test_list
test_listcomps test_long test_lzma test_math test_memoryio test_memoryview test_metaclass test_mmap
test_named_expressions test_numeric_tower test_operator test_optparse test_ordered_dict test_os
test_pathlib test_patma test_pickle test_pickletools test_posix test_posixpath test_pow test_pprint
test_property test_queue test_random test_range test_re test_reprlib test_richcmp test_sched
test_scope test_secrets test_set test_shelve test_shlex test_shutil test_slice test_sort
test_statistics test_string test_struct test_subprocess test_super test_tarfile test_tempfile
test_textwrap test_threading test_time test_traceback test_tuple test_types
test_typing test_unicode test_unpack test_urlparse test_uuid test_weakref test_weakset test_with
test_xml_etree test_yield_from test_zipfile test_zlib
""".split()

CPYTHON_QUICK = """
test_array test_bytes test_collections test_csv test_ctypes test_datetime test_dict test_float
test_functools test_glob test_gzip test_hashlib test_int test_itertools test_json test_list
test_math test_mmap test_os test_pathlib test_posix test_pty test_re test_shutil test_struct
test_sys test_tempfile test_threading_local test_time test_unicode test_uuid
test_asyncio.test_unix_events test_multiprocessing_main_handling
""".split()

CPYTHON_DATA_QUICK = "test_fileio test_os test_shutil test_tempfile".split()

CPYTHON_KERNEL_QUICK = """
test_bytes test_codecs test_collections test_contextlib test_dict test_enum test_fstring
test_generators test_grammar test_json test_list test_math test_patma test_pathlib test_re
test_set test_string test_tempfile test_textwrap test_traceback test_typing test_zlib
""".split()

NUMPY_QUICK = """
numpy/core/tests/test_dtype.py numpy/core/tests/test_indexing.py numpy/core/tests/test_memmap.py
numpy/core/tests/test_numeric.py numpy/core/tests/test_records.py
numpy/core/tests/test_shape_base.py numpy/lib/tests/test_histograms.py
numpy/lib/tests/test_io.py
""".split()

NUMPY_KERNEL_QUICK = """
numpy/core/tests/test_einsum.py numpy/core/tests/test_umath.py numpy/lib/tests/test_arraypad.py
""".split()

PANDAS_QUICK = """
pandas/tests/frame/indexing/test_where.py pandas/tests/frame/methods/test_describe.py
pandas/tests/frame/methods/test_drop_duplicates.py pandas/tests/frame/methods/test_fillna.py
pandas/tests/frame/methods/test_quantile.py pandas/tests/frame/methods/test_sort_values.py
pandas/tests/frame/methods/test_to_csv.py pandas/tests/frame/test_query_eval.py
pandas/tests/io/test_sql.py
""".split()


def regrtest_units(kind, modules):
    return [[kind, m, m, *NETWORK.get(m, [])] for m in modules]


def test_files(*folders):
    """All test files below some folders of the packages, sorted."""
    found = []
    for folder in folders:
        pattern = os.path.join(PACKAGES, folder, "**", "test_*.py")
        found += [os.path.relpath(p, PACKAGES) for p in glob.glob(pattern, recursive=True)]
    return sorted(found)


def pytest_units(suite, files, parts):
    """Deals files out to a few processes of about equal work, heavy ones first."""
    size = {f: os.path.getsize(os.path.join(PACKAGES, f)) for f in files}
    hands = [[] for _ in range(min(parts, len(files)))]
    for name in sorted(files, key=lambda f: (-size[f], f)):
        min(hands, key=lambda hand: sum(size[f] for f in hand)).append(name)
    return [["pytest", f"{suite}.{i}", *sorted(hand)] for i, hand in enumerate(hands)]


def suites(mode):
    """{suite: (how, units)}; how is "process" or "kernel": who runs the units inside the jail."""
    quick = mode == "quick"
    cpython = CPYTHON_QUICK if quick else CPYTHON
    data = CPYTHON_DATA_QUICK if quick else CPYTHON_DATA
    kernel = CPYTHON_KERNEL_QUICK if quick else CPYTHON_KERNEL
    numpy = NUMPY_QUICK if quick else test_files("numpy/core/tests", "numpy/lib/tests")
    numpy_kernel = NUMPY_KERNEL_QUICK if quick else test_files("numpy/core/tests", "numpy/lib/tests")
    pandas = PANDAS_QUICK if quick else (
        test_files("pandas/tests/frame", "pandas/tests/io/parser", "pandas/tests/io/excel",
                   "pandas/tests/io/json", "pandas/tests/groupby")
        + ["pandas/tests/io/test_sql.py", "pandas/tests/io/test_pickle.py"])
    parts = 2 if quick else 8
    return {
        "cpython": ("process", regrtest_units("regrtest", cpython)),
        "cpython-data": ("process", regrtest_units("regrtest@cwd", data)),
        "cpython-kernel": ("kernel", [["unittest", "cpython-kernel.0", *kernel]]),
        "numpy": ("process", pytest_units("numpy", numpy, parts)),
        "numpy-kernel": ("kernel", pytest_units("numpy-kernel", numpy_kernel, 1)),
        "pandas": ("process", pytest_units("pandas", pandas, parts)),
    }
