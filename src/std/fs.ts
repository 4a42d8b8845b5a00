// @ts-types="./fs.d.ts"
export * from "deno-std-fs/fs/mod.js";
