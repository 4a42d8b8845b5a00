// @ts-self-types="./async.d.ts"
export * from "deno-std/async/delay.js";
export * from "deno-std/async/deadline.js";
export * from "deno-std/async/abortable.js";
