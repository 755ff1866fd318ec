/* frame.h -- what engine and kernel say to each other, as bytes.
 *
 * Both ends of a stream socket exchange frames:
 *
 *     u32 length of the payload | u8 kind | 3 zero bytes | payload
 *
 * and every payload is a list of fields:
 *
 *     u16 tag | u16 zero | u32 length | bytes          repeated to the end of the payload
 *
 * fd: a descriptor comes with the first byte of the frame (SCM_RIGHTS). SLEEP with STAYS 1 is how a
 * session is branched: the one that wakes from it elsewhere begins with HELLO, as does any that wakes.
 *
 * All numbers are little-endian. This file parses; it does no I/O. The engine reads what a
 * kernel writes with it, and a kernel is hostile once it runs a session's code: every length is
 * checked before it is believed, and anything unexpected is ERR_PROTOCOL, after which the only
 * thing left to do is to end the kernel.
 *
 *     struct frame_reader r = FRAME_READER_INIT;          frame_fill: bytes as they arrive
 *     while (frame_next(&r, &frame, e) == 1)              whole frames come out
 *         for (struct field f = {0}; field_next(&frame, &f);) ...
 *
 * Kinds, their fields (* = any number of times) and who answers:
 *
 *   engine -> kernel
 *     RUN       CODE NAME? LANGUAGE? STDIN? ENV*
 *                                             run it; frames below follow, DONE is the last
 *     ACK                                     answers SYNC, DISPLAY and CLEAR
 *     ASK       TOPIC CODE? CURSOR? ROOM? LIMIT?
 *                                             "complete", "inspect", "variables"; REPLY follows
 *     ENTER     ENV*                          first thing to one from an image: what differs from
 *                                             when it was baked; a parked one goes into /mnt/data.
 *                                             TZ: the session's time zone, also to others
 *     RESEED                                  another with the same memory lives: new random numbers
 *     WARM                                    touch what most code will need; DONE follows
 *     SLEEP     STAYS                      fd write yourself into this pipe; SLEPT or REFUSED follows
 *     COPY                                 fd fork; the copy says HELLO on this socket and waits there
 *                                             for a byte, then goes on here, with HELLO; SLEPT or
 *                                             REFUSED follows from the original
 *     SAVE                                 fd pickle the variables into this pipe; SAVED follows
 *     RESTORE                              fd the variables from this file; SAVED follows
 *   kernel -> engine
 *     HELLO     VERSION LOST*                 once, after sealing: now code may come. LOST: what one
 *                                             that woke could not have back, "what: why"
 *     SLEPT                                   all of it is in the pipe (STAYS 0: the kernel exits)
 *     REFUSED   MESSAGE+                      cannot sleep or be copied now, and why, one reason each
 *     SAVED     NAME* LOST*                   names that were saved or restored; those that were not
 *     PROGRESS  MESSAGE                       only while an image is baked
 *     SYNC                                    read what stdout and stderr hold, then ACK
 *     DISPLAY   (MIME FORM DATA)+ ID? UPDATE? a MIME bundle; ACK
 *     CLEAR     WAIT                          forget the displays so far; ACK
 *     RESULT    (MIME FORM DATA)+             value of the last expression
 *     ERROR     NAME MESSAGE LINE? TRACEBACK  the exception that ended the run
 *     READS     PATH* GUESS* PARTIAL?         before DONE: files the run read, below /mnt/data. GUESS: a
 *                                             child process may have
 *     DONE                                    the run is over, the kernel waits for the next
 *     REPLY     DATA                          JSON text; without it the question failed
 */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "wire/limits.h"

struct err;

enum { FRAME_HEAD = 8, FIELD_HEAD = 8 };

enum frame_kind {
    FRAME_RUN = 1,
    FRAME_ACK = 2,
    FRAME_ASK = 3,
    FRAME_ENTER = 4,
    FRAME_WARM = 5,
    FRAME_SLEEP = 6,
    FRAME_COPY = 7,
    FRAME_SAVE = 8,
    FRAME_RESTORE = 9,
    FRAME_RESEED = 10,
    FRAME_HELLO = 64,
    FRAME_SYNC = 65,
    FRAME_DISPLAY = 66,
    FRAME_CLEAR = 67,
    FRAME_RESULT = 68,
    FRAME_ERROR = 69,
    FRAME_DONE = 70,
    FRAME_REPLY = 71,
    FRAME_SLEPT = 72,
    FRAME_REFUSED = 73,
    FRAME_SAVED = 74,
    FRAME_PROGRESS = 75,
    FRAME_READS = 76,
};

enum field_tag {
    FIELD_CODE = 1,
    FIELD_NAME = 2,  /* of the file the code is from, or of an exception */
    FIELD_STDIN = 3, /* text for input(); absent: input() is an error */
    FIELD_ENV = 4,   /* NAME=value for this run */
    FIELD_TOPIC = 5,
    FIELD_CURSOR = 6, /* u32, in characters */
    FIELD_VERSION = 7,
    FIELD_MIME = 8, /* opens an entry of a bundle */
    FIELD_FORM = 9, /* u8: enum field_form of the DATA that follows */
    FIELD_DATA = 10,
    FIELD_MESSAGE = 11,
    FIELD_LINE = 12, /* u32: line of the code, from 1 */
    FIELD_TRACEBACK = 13,
    FIELD_ID = 14,       /* display_id */
    FIELD_UPDATE = 15,   /* u8 1: replaces the display of that ID */
    FIELD_WAIT = 16,     /* u8 1: clear when the next display comes */
    FIELD_STAYS = 17,    /* u32 1: the kernel goes on after writing itself down */
    FIELD_LOST = 18,     /* "name: why" of a variable or file that could not be saved or restored */
    FIELD_LANGUAGE = 19, /* u32: enum run_language; absent: Python */
    FIELD_PATH = 20,     /* of a file, below /mnt/data */
    FIELD_GUESS = 21,    /* likewise, of one that a child process was told of */
    FIELD_PARTIAL = 22,  /* u32 1: there may be others */
    FIELD_ROOM = 23,     /* u32, KiB: what the session may still use of its memory */
    FIELD_LIMIT = 24,    /* u32, KiB: how much it may use in all; absent: there is no limit */
};

/* What the code of a run is written in. Numbers are part of the protocol. */
enum run_language { LANGUAGE_PYTHON, LANGUAGE_BASH, LANGUAGE_JAVASCRIPT, LANGUAGE_COUNT };

enum field_form { FORM_TEXT = 1, FORM_BINARY = 2, FORM_JSON = 3 };

struct frame {
    enum frame_kind kind;
    const uint8_t *payload; /* borrowed from the reader until the next frame_fill or frame_next */
    size_t len;
};

struct field {
    enum field_tag tag;
    const uint8_t *bytes;
    size_t len;
    size_t next; /* offset of the following field; 0 before the first */
};

struct frame_reader {
    struct buf held;  /* bytes not yet given out */
    size_t given_len; /* bytes at the front that the last frame occupied */
};

#define FRAME_READER_INIT ((struct frame_reader){.held = BUF_INIT(FRAME_PAYLOAD_MAX + FRAME_HEAD)})

void frame_reader_done(struct frame_reader *r);

/* How many more bytes may be filled in now: never 0 while no whole frame is held. */
size_t frame_room(const struct frame_reader *r);

/* Takes bytes as they came from the socket, at most frame_room(). Fails with ERR_LIMIT or
 * ERR_NO_MEMORY. */
int frame_fill(struct frame_reader *r, const void *bytes, size_t len, struct err *e);

/* 1 and the next whole frame, all of whose fields are well-formed; 0 when more bytes are needed;
 * -1 with ERR_PROTOCOL when the stream cannot be understood any more. */
int frame_next(struct frame_reader *r, struct frame *ret, struct err *e);

/* Steps through the fields. False at the end. */
bool field_next(const struct frame *frame, struct field *f);

/* The first field with that tag; false if there is none. */
bool field_find(const struct frame *frame, enum field_tag tag, struct field *ret);

/* A u8 or u32 field's number; `preset` if its length is not that of a number. */
uint32_t field_u32(const struct field *f, uint32_t preset);

/* Writing: frame_begin, any number of field_put_*, frame_end. Failure is the buf's (buf_check). */
size_t frame_begin(struct buf *out, enum frame_kind kind); /* returns the mark for frame_end */
void field_put(struct buf *out, enum field_tag tag, const void *bytes, size_t len);
void field_put_u32(struct buf *out, enum field_tag tag, uint32_t v);
void frame_end(struct buf *out, size_t mark);

#endif
