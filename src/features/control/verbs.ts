import * as z from "zod";
import { VERSION } from "../../protocol/version.ts";
import type { SettingsChanged, SettingsView } from "../../config/settings.ts";
import { SvcError } from "../../protocol/errors.ts";
import { nothing, verbsOf } from "../../verbs/define.ts";
import type { ControlServices } from "./services.ts";
import {
  commandPathSchema,
  directoryListingSchema,
  discoverySchema,
  setting_value,
  settingsViewSchema,
} from "../../protocol/schemas/daemon.ts";
import { modelUsageSchema, providerInfoSchema } from "../../protocol/schemas/models.ts";

const defineVerb = verbsOf<ControlServices>();

/** Maximum number of directories in one answer of daemon.list_dirs. */
const DIRECTORIES_MAX = 1_000;

export const daemonVerbs = [
  defineVerb({
    name: "daemon.health",
    summary: "Reports whether the daemon is healthy.",
    access: "read",
    rest: { method: "GET", path: "/v1/health", status: 200, public: true },
    input: nothing,
    output: () =>
      z.object({
        status: z.string(),
        version: z.string(),
        sessions: z.int(),
        uptime_s: z.int(),
      }),
    handle({ services }) {
      const health = (sessions: number) => ({
        status: "ok",
        version: VERSION,
        sessions,
        uptime_s: Math.floor(services.uptime_ms() / 1000),
      });
      const size = services.hub.size();
      return size instanceof Promise ? size.then(health) : health(size);
    },
  }),
  defineVerb({
    name: "daemon.discover",
    summary: "Returns the discovery record.",
    access: "read",
    rest: { method: "GET", path: "/v1/discover", status: 200, public: true, same_user: true },
    secrets: ["token"],
    input: nothing,
    output: discoverySchema,
    handle: ({ services }) => services.discovery(),
  }),
  defineVerb({
    name: "daemon.info",
    summary: "Shows the daemon's versions, memory use, models and configuration.",
    access: "read",
    input: nothing,
    output: () =>
      z.object({
        version: z.string(),
        deno: z.string(),
        protocol_version: z.int(),
        pid: z.int(),
        port: z.int(),
        sock: z.string(),
        config_path: z.string().describe("Path of daemon.toml, which may not exist"),
        log_path: z.string(),
        uptime_s: z.int(),
        rss_bytes: z.int(),
        heap_bytes: z.int(),
        sessions: z.int(),
        agent_port: z.int().optional(),
        sidecar: z.boolean().describe(
          "Whether a desktop shell started the daemon as its child process",
        ),
        command_path: commandPathSchema().describe("The PATH of commands"),
        default_model: z.string(),
        models: z.array(
          providerInfoSchema(),
        ),
      }),
    async handle({ services }) {
      const { rss, heapUsed } = Deno.memoryUsage();
      const { version, pid, port, sock, protocol_version } = services.discovery();
      return {
        version,
        deno: Deno.version.deno,
        protocol_version,
        pid,
        port,
        sock,
        config_path: services.paths.config,
        log_path: services.paths.log,
        uptime_s: Math.floor(services.uptime_ms() / 1000),
        rss_bytes: rss,
        heap_bytes: heapUsed,
        sessions: await services.hub.size(),
        agent_port: services.agent_port(),
        sidecar: services.sidecar,
        command_path: services.command_path(),
        default_model: services.models().defaultId(),
        models: services.models().list(),
      };
    },
  }),
  defineVerb({
    name: "daemon.shutdown",
    summary: "Stops the daemon; running turns get the grace period to reach a safe point.",
    access: "write",
    destructive: true,
    idempotent: true,
    input: () => z.object({ grace_s: z.int().min(0).max(3600).default(30) }),
    output: () => z.object({ grace_s: z.int() }),
    handle({ services }, { grace_s }) {
      services.shutdown(grace_s);
      return { grace_s };
    },
  }),
  defineVerb({
    name: "daemon.reload_config",
    summary: "Reloads daemon.toml and policy.yaml; if a file has an error, nothing changes.",
    access: "write",
    idempotent: true,
    input: nothing,
    output: () => z.object({}),
    async handle({ services }) {
      await services.reload_config();
      return {};
    },
  }),
  defineVerb({
    name: "daemon.check_cache",
    summary: "Sends the prefix that all model calls share and measures how much of it is cached.",
    access: "write",
    input: () =>
      z.object({
        model: z.string().min(1).optional().describe(
          "<provider>/<model>; by default, the default model",
        ),
        workers: z.int().min(1).max(20).default(5).describe(
          "Number of concurrent calls after the first one",
        ),
      }),
    output: () =>
      z.object({
        model: z.string(),
        warm: modelUsageSchema(),
        workers: z.array(modelUsageSchema()),
        hit_rate: z.number().describe(
          "Share of the workers' input tokens that came from the cache",
        ),
        passed: z.boolean().describe("Whether the hit rate is 0.8 or more"),
      }),
    async handle({ services, signal }, { model: id, workers: count }) {
      const models = services.models();
      const model_id = id ?? models.defaultId();
      models.checkForRequests(model_id);
      if (!models.answersRequests(model_id)) {
        throw new SvcError(
          "validation",
          `${model_id} has no cache, because it sends nothing to a provider`,
          {
            hint: "choose another model",
          },
        );
      }
      const { HIT_RATE_MIN, measureCache } = await import("../../agent/prefix.ts");
      const model = await models.resolve(model_id);
      const measured = await measureCache(model, await services.prefix_tools(), count, signal);
      return { model: model.id, ...measured, passed: measured.hit_rate >= HIT_RATE_MIN };
    },
  }),
  defineVerb({
    name: "daemon.list_dirs",
    summary: "Lists the directories in a directory, for choosing a workdir.",
    access: "read",
    input: () =>
      z.object({
        path: z.string().min(1).optional()
          .describe("Absolute path; defaults to default_workdir or the home directory"),
        hidden: z.boolean().default(false).describe(
          "Also lists directories whose names begin with a dot",
        ),
      }),
    output: directoryListingSchema,
    async handle({ services }, { path = services.start_dir(), hidden }) {
      const { listDirectories } = await import("../../os/directories.ts");
      return await listDirectories(path, { hidden, limit: DIRECTORIES_MAX });
    },
  }),
  defineVerb({
    name: "daemon.verbs",
    summary: "Lists every verb with the JSON Schema of its parameters.",
    access: "read",
    input: nothing,
    output: () =>
      z.object({
        verbs: z.array(z.object({
          name: z.string(),
          summary: z.string(),
          access: z.enum(["read", "write"]),
          destructive: z.boolean(),
          input: z.record(z.string(), z.unknown()).describe("JSON Schema"),
        })),
      }),
    handle({ services }) {
      return {
        verbs: services.verbs().map(({ name, summary, access, destructive = false, input }) => {
          const { $schema: _, ...schema } = z.toJSONSchema(input, {
            io: "input",
            unrepresentable: "any",
          });
          return { name, summary, access, destructive, input: schema };
        }),
      };
    },
  }),
];

/** The verbs about daemon.toml. @param keys those that clients may change. */
export function configVerbs<K extends string>(keys: readonly K[]) {
  const setting_key = () => z.enum(keys);
  return [
    defineVerb({
      name: "daemon.get_config",
      summary: "Shows the settings that daemon.set_config can change.",
      access: "read",
      input: nothing,
      output: () => settingsViewSchema(keys),
      async handle({ services }) {
        return await (await services.config_editor()).read() as SettingsView<K>;
      },
    }),
    defineVerb({
      name: "daemon.set_config",
      summary: "Changes settings in daemon.toml and applies them; comments and order are kept.",
      access: "write",
      destructive: true,
      idempotent: true,
      input: () =>
        z.object({
          changes: z.partialRecord(setting_key(), setting_value().nullable())
            .describe("Values by key, such as agent.approval; null removes a key from the file"),
          revision: z.string().max(64).optional()
            .describe(
              "From daemon.get_config; the change is refused if the file has changed since",
            ),
        }),
      output: () =>
        z.object({
          revision: z.string(),
          restart: z.array(setting_key()).describe(
            "Changed settings that take effect after a restart",
          ),
        }),
      async handle({ services }, { changes, revision }) {
        const editor = await services.config_editor();
        return await editor.change(changes, revision) as SettingsChanged<K>;
      },
    }),
  ];
}
