// @ts-self-types="./toml.d.ts"
export * from "deno-std/toml/parse.js";
