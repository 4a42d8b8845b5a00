/** How the services call each other. */
import { type Context, type RestatePromise, serde } from "@restatedev/restate-sdk";
import { type Api, type Args, type Result, type Run, runKey, runService } from "./api.ts";

/** Calls a handler of an object and waits for its result. */
export function call<S extends keyof Api, H extends keyof Api[S] & string>(
  ctx: Context,
  service: S,
  key: string,
  method: H,
  ...[parameter = null]: Args<S, H> | []
): RestatePromise<Awaited<Result<S, H>>> {
  return ctx.genericCall({
    service,
    key,
    method,
    parameter: parameter as unknown,
    inputSerde: serde.json,
    outputSerde: serde.json,
  }) as RestatePromise<Awaited<Result<S, H>>>;
}

/** Calls a handler of an object without waiting; calls of one handler arrive in order. */
export function send<S extends keyof Api, H extends keyof Api[S] & string>(
  ctx: Context,
  service: S,
  key: string,
  method: H,
  parameter: Args<S, H>[0] | null,
  delay_ms?: number,
): void {
  ctx.genericSend({
    service,
    key,
    method,
    parameter: parameter as unknown,
    inputSerde: serde.json,
    delay: delay_ms,
  });
}

/** Starts an attempt. */
export function sendRun(ctx: Context, run: Run): void {
  ctx.genericSend({
    service: runService(run.request.task_type),
    key: runKey(run),
    method: "run",
    parameter: run as unknown,
    inputSerde: serde.json,
  });
}

/** Stops an attempt. */
export function sendCancel(
  ctx: Context,
  task_type: string,
  run: { id: string; run: number },
): void {
  ctx.genericSend({
    service: runService(task_type),
    key: runKey(run),
    method: "cancel",
    parameter: null as unknown,
    inputSerde: serde.json,
  });
}
