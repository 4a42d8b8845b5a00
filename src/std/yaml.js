// @ts-self-types="./yaml.d.ts"
export { parse } from "deno-std/yaml/parse.js";
