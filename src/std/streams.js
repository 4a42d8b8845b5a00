// @ts-self-types="./streams.d.ts"
export * from "deno-std/streams/to_text.js";
export * from "deno-std/streams/text_line_stream.js";
export * from "deno-std/streams/merge_readable_streams.js";
