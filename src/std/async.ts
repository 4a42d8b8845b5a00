// @ts-types="./async.d.ts"
export * from "deno-std/async/mod.js";
