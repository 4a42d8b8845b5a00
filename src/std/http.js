// @ts-self-types="./http.d.ts"
export * from "deno-std/http/server_sent_event_stream.js";
export * from "deno-std/http/server_sent_event_parse_stream.js";
export * from "deno-std/http/etag.js";
export * from "deno-std/http/negotiation.js";
