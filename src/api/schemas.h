/* schemas.h -- schemas.json as it is compiled in: one line, NUL at the end. */
#ifndef API_SCHEMAS_H
#define API_SCHEMAS_H

extern const char api_schemas[];

#endif
