// @ts-self-types="./semver.d.ts"
export { compare } from "deno-std/semver/compare.js";
export { tryParse } from "deno-std/semver/try_parse.js";
