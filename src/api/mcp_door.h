/* mcp_door.h -- what the address of /mcp may say. */
#ifndef API_MCP_DOOR_H
#define API_MCP_DOOR_H

enum mcp_profile { MCP_PROFILE_FULL, MCP_PROFILE_CORE };

struct mcp_query {
    int profile;           /* enum mcp_profile */
    const char *workspace; /* the one meant when a tool is not told which; NULL: their own */
};

#endif
