export { createMcpHandler, ProtocolError, Server } from "@modelcontextprotocol/server";
export { serveStdio } from "@modelcontextprotocol/server/stdio";
