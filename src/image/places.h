/* places.h -- where things are in the memory of a process that comes from an image.
 *
 *     0x0000_0010_0000   the loader, while it works (cicada-load is linked there)
 *     0x0000_0040_0000   the kernel program (linked there: not position-independent)
 *     0x0000_2000_0000   the heap: brk is moved here when an image is baked
 *     0x1000_0000_0000   the image once more, read-only: what changed pages are compared with
 *     0x1100_0000_0000   room to work while an image or a delta is written
 *     0x7fff_....        libraries, mappings, the stack, as the OS places them without ASLR
 */
#ifndef IMAGE_PLACES_H
#define IMAGE_PLACES_H

#define LOADER_START 0x100000ull
#define LOADER_END 0x400000ull
#define HEAP_START 0x20000000ull
#define BASE_START 0x100000000000ull
#define BASE_END 0x110000000000ull
#define WORK_START 0x110000000000ull
#define WORK_END 0x120000000000ull

#endif
