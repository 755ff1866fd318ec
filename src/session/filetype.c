#include <string.h>
#include <strings.h>

#include "session/capture_int.h"

/* clang-format off */
static const struct {
    const char *ending, *type;
} types[] = {
    {"7z",      "application/x-7z-compressed"},
    {"avi",     "video/x-msvideo"},
    {"bmp",     "image/bmp"},
    {"bz2",     "application/x-bzip2"},
    {"c",       "text/x-c"},
    {"cfg",     "text/plain"},
    {"css",     "text/css"},
    {"csv",     "text/csv"},
    {"db",      "application/vnd.sqlite3"},
    {"doc",     "application/msword"},
    {"docx",    "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    {"eml",     "message/rfc822"},
    {"eps",     "application/postscript"},
    {"epub",    "application/epub+zip"},
    {"feather", "application/vnd.apache.arrow.file"},
    {"flac",    "audio/flac"},
    {"geojson", "application/geo+json"},
    {"gif",     "image/gif"},
    {"gz",      "application/gzip"},
    {"h5",      "application/x-hdf5"},
    {"hdf5",    "application/x-hdf5"},
    {"htm",     "text/html"},
    {"html",    "text/html"},
    {"ico",     "image/vnd.microsoft.icon"},
    {"ics",     "text/calendar"},
    {"ini",     "text/plain"},
    {"ipynb",   "application/x-ipynb+json"},
    {"jpeg",    "image/jpeg"},
    {"jpg",     "image/jpeg"},
    {"js",      "text/javascript"},
    {"json",    "application/json"},
    {"jsonl",   "application/jsonl"},
    {"log",     "text/plain"},
    {"m4a",     "audio/mp4"},
    {"md",      "text/markdown"},
    {"mkv",     "video/x-matroska"},
    {"mov",     "video/quicktime"},
    {"mp3",     "audio/mpeg"},
    {"mp4",     "video/mp4"},
    {"mpeg",    "video/mpeg"},
    {"npy",     "application/x-npy"},
    {"npz",     "application/x-npz"},
    {"odp",     "application/vnd.oasis.opendocument.presentation"},
    {"ods",     "application/vnd.oasis.opendocument.spreadsheet"},
    {"odt",     "application/vnd.oasis.opendocument.text"},
    {"ogg",     "audio/ogg"},
    {"otf",     "font/otf"},
    {"parquet", "application/vnd.apache.parquet"},
    {"pdf",     "application/pdf"},
    {"pickle",  "application/x-python-pickle"},
    {"pkl",     "application/x-python-pickle"},
    {"png",     "image/png"},
    {"ppt",     "application/vnd.ms-powerpoint"},
    {"pptx",    "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
    {"ps",      "application/postscript"},
    {"py",      "text/x-python"},
    {"r",       "text/x-r"},
    {"rst",     "text/x-rst"},
    {"rtf",     "application/rtf"},
    {"sh",      "application/x-sh"},
    {"sql",     "application/sql"},
    {"sqlite",  "application/vnd.sqlite3"},
    {"sqlite3", "application/vnd.sqlite3"},
    {"svg",     "image/svg+xml"},
    {"tar",     "application/x-tar"},
    {"tex",     "text/x-tex"},
    {"tgz",     "application/gzip"},
    {"tif",     "image/tiff"},
    {"tiff",    "image/tiff"},
    {"toml",    "application/toml"},
    {"ts",      "text/x-typescript"},
    {"tsv",     "text/tab-separated-values"},
    {"ttf",     "font/ttf"},
    {"txt",     "text/plain"},
    {"wasm",    "application/wasm"},
    {"wav",     "audio/wav"},
    {"webm",    "video/webm"},
    {"webp",    "image/webp"},
    {"woff",    "font/woff"},
    {"woff2",   "font/woff2"},
    {"xls",     "application/vnd.ms-excel"},
    {"xlsx",    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {"xml",     "application/xml"},
    {"xz",      "application/x-xz"},
    {"yaml",    "application/yaml"},
    {"yml",     "application/yaml"},
    {"zip",     "application/zip"},
    {"zst",     "application/zstd"},
};
/* clang-format on */

const char *filetype_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    if (dot && dot != name)
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            if (strcasecmp(dot + 1, types[i].ending) == 0)
                return types[i].type;
    return "application/octet-stream";
}
