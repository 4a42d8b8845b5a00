// @ts-self-types="./ulid.d.ts"
export * from "deno-std/ulid/monotonic_ulid.js";
