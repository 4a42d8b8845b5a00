// @ts-self-types="./fmt_colors.d.ts"
export * from "deno-std/fmt/colors.js";
