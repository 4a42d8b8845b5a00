// @ts-self-types="./prompt_secret.d.ts"
export * from "deno-std/cli/prompt_secret.js";
