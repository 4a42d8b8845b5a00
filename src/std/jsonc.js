// @ts-self-types="./jsonc.d.ts"
export * from "deno-std/jsonc/parse.js";
