/** `[tasks]` of daemon.toml. */
import { isAbsolute } from "@std/path";
import * as z from "zod";
import { section } from "../../config/section.ts";
import { WORKERS_MAX } from "./limits.ts";

const path = () => z.string().refine(isAbsolute, "must be an absolute path");

const NATS_URL = "must be a nats:// or tls:// address without a user or password, which have " +
  "their own keys; separate several addresses with commas";

function isNatsUrl(text: string): boolean {
  return text.split(",").every((it) => {
    const url = URL.parse(it.trim());
    return url !== null && /^(?:nats|tls):$/.test(url.protocol) && url.hostname !== "" &&
      url.username === "" && url.password === "" && /^\/?$/.test(url.pathname);
  });
}

export const TASKS = section("tasks", () =>
  z.strictObject({
    engine: z.enum(["local", "nats"]).default("local")
      .describe("Where tasks are kept: here, or on a NATS server for several machines"),
    nats_url: z.string().refine(isNatsUrl, NATS_URL).default("nats://127.0.0.1:4222")
      .describe("Address of the NATS server; several for a cluster, separated by commas"),
    nats_creds_file: path().optional().describe("A file with a JWT and its key, from `nsc`"),
    nats_nkey_file: path().optional().describe("A file with the seed of an nkey"),
    nats_token_env: z.string().optional().describe("The environment variable with the token"),
    nats_user: z.string().optional().describe("The user"),
    nats_password_env: z.string().optional().describe("The environment variable with the password"),
    nats_ca_file: path().optional()
      .describe("A certificate in PEM that is trusted for the server, beside the system's"),
    workers: z.int().min(0).max(WORKERS_MAX).default(2)
      .describe("Queued tasks that run at once, until `queue.workers` changes it"),
    budget_usd: z.number().positive().default(5).describe("USD that one task may cost"),
    workdirs: z.array(path()).default([])
      .describe("Directories in which hired work may be done, with all that is below them"),
  }).prefault({}), { budget_usd: { restart: false } });

export type NatsConfig = Pick<
  z.output<ReturnType<typeof TASKS.schema>>,
  | "nats_url"
  | "nats_creds_file"
  | "nats_nkey_file"
  | "nats_token_env"
  | "nats_user"
  | "nats_password_env"
  | "nats_ca_file"
>;
