// @ts-types="./http.d.ts"
export * from "deno-std/http/mod.js";
