// @ts-types="./streams.d.ts"
export * from "deno-std/streams/mod.js";
