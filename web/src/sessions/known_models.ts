import type { Result } from "../rpc/api.ts";

/** Models that a person may mean: the default, those in use, and what is configured. */
export function knownModels(
  sessions: readonly { model: string }[],
  info: Pick<Result<"daemon.info">, "default_model" | "models"> | undefined,
): string[] {
  const configured = info?.models.filter((it) => it.configured).map((it) => `${it.provider}/`) ??
    [];
  const used = sessions.map(({ model }) => model);
  return [...new Set([...(info ? [info.default_model] : []), ...used, ...configured])];
}
