// @ts-self-types="./text.d.ts"
export * from "deno-std/text/closest_string.js";
export * from "deno-std/text/levenshtein_distance.js";
