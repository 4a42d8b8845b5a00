// @ts-self-types="./fs.d.ts"
export * from "deno-std-fs/fs/ensure_dir.js";
export * from "deno-std-fs/fs/empty_dir.js";
export * from "deno-std-fs/fs/exists.js";
export * from "deno-std-fs/fs/walk.js";
