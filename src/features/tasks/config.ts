/** `[tasks]` of daemon.toml. */
import { isAbsolute } from "@std/path";
import * as z from "zod";
import { section } from "../../config/section.ts";
import { WORKERS_MAX } from "./limits.ts";

const path = () => z.string().refine(isAbsolute, "must be an absolute path");

const URL_RULE = "must be an http:// or https:// address without a user or password";

function isHttpUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === "" &&
    url.password === "" && url.search === "" && url.hash === "";
}

const httpUrl = () => z.string().refine(isHttpUrl, URL_RULE);

export const TASKS = section("tasks", () =>
  z.strictObject({
    engine: z.enum(["local", "restate"]).default("local")
      .describe("Where tasks are kept: here, or on a Restate server for several machines"),
    restate_url: httpUrl().default("http://127.0.0.1:8080")
      .describe("Address of the Restate server's ingress"),
    restate_admin_url: httpUrl().default("http://127.0.0.1:9070").describe(
      "Address of its admin API, which `svc task worker --register` and `svc doctor` use",
    ),
    restate_key_env: z.string().optional()
      .describe("The environment variable with the bearer token for both"),
    restate_public_keys: z.array(
      z.string().regex(/^publickeyv1_[1-9A-HJ-NP-Za-km-z]+$/, "must begin with publickeyv1_"),
    ).default([]).describe(
      "Public keys of the Restate servers that may call workers; empty: no signature is checked",
    ),
    artifacts: z.string().optional().describe(
      "Where artifacts are kept with Restate: a directory that all machines share, or s3://bucket/prefix",
    ),
    workers: z.int().min(0).max(WORKERS_MAX).default(2)
      .describe("Queued tasks that run at once, until `queue.workers` changes it"),
    budget_usd: z.number().positive().default(5).describe("USD that one task may cost"),
    workdirs: z.array(path()).default([])
      .describe("Directories in which hired work may be done, with all that is below them"),
  }).prefault({}), { budget_usd: { restart: false } });

export type TasksConfig = z.output<ReturnType<typeof TASKS.schema>>;
