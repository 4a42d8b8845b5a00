/** Connects the daemon to the Windows Service Control Manager. */
import { openLibrary } from "../../os/windows/libraries.ts";
import { Instance, wide } from "../../os/windows/structure.ts";
import { SERVICE_STATUS, SERVICE_TABLE_ENTRYW } from "../../os/windows/structures.ts";
import { START_TIMEOUT_S, STOP_MARGIN_S } from "./limits.ts";
import type { Supervisor } from "./supervisor.ts";
import { SERVICE_NAME } from "./windows.ts";

const WIN32_OWN_PROCESS = 0x10;
const NO_ERROR = 0;
const ERROR_CALL_NOT_IMPLEMENTED = 120;

const State = { stopped: 1, start_pending: 2, stop_pending: 3, running: 4 } as const;

const CONTROL_STOP = 1;
const CONTROL_INTERROGATE = 4;
const CONTROL_SHUTDOWN = 5;
const CONTROL_PRESHUTDOWN = 15;
/** A preshutdown gives a service its requested time, a shutdown only seconds. */
const STOPS: readonly number[] = [CONTROL_STOP, CONTROL_SHUTDOWN, CONTROL_PRESHUTDOWN];
const ACCEPT_STOP = 0x1;
const ACCEPT_SHUTDOWN = 0x4;
const ACCEPT_PRESHUTDOWN = 0x100;
const ACCEPTED = ACCEPT_STOP | ACCEPT_SHUTDOWN | ACCEPT_PRESHUTDOWN;

const ADVAPI = {
  StartServiceCtrlDispatcherW: { parameters: ["buffer"], result: "i32", nonblocking: true },
  RegisterServiceCtrlHandlerExW: {
    parameters: ["buffer", "function", "pointer"],
    result: "isize",
  },
  SetServiceStatus: { parameters: ["isize", "buffer"], result: "i32" },
} as const;

const SERVICE_MAIN = { parameters: ["u32", "pointer"], result: "void" } as const;
const HANDLER = { parameters: ["u32", "u32", "pointer", "pointer"], result: "u32" } as const;

/**
 * Connects to the Service Control Manager that started this process. Its callbacks come from
 * Windows' threads and run in this one. @returns undefined if no manager started it
 */
export async function windowsSupervisor(onStop: () => void): Promise<Supervisor | undefined> {
  const library = openLibrary("advapi32", ADVAPI);
  const advapi = library.symbols;
  const name = wide(SERVICE_NAME);
  let handle = 0n;
  const report = (state: number, wait_s = 0) => {
    const { bytes } = new Instance(SERVICE_STATUS)
      .set("dwServiceType", WIN32_OWN_PROCESS)
      .set("dwCurrentState", state)
      .set("dwControlsAccepted", state === State.running ? ACCEPTED : 0)
      .set("dwWaitHint", wait_s * 1_000);
    advapi.SetServiceStatus(handle, bytes);
  };
  const handler = Deno.UnsafeCallback.threadSafe(HANDLER, (control) => {
    if (STOPS.includes(control)) onStop();
    else if (control !== CONTROL_INTERROGATE) return ERROR_CALL_NOT_IMPLEMENTED;
    return NO_ERROR;
  });
  const begun = Promise.withResolvers<boolean>();
  const main = Deno.UnsafeCallback.threadSafe(SERVICE_MAIN, () => {
    handle = advapi.RegisterServiceCtrlHandlerExW(name, handler.pointer, null);
    report(State.start_pending, START_TIMEOUT_S);
    begun.resolve(true);
  });
  // A zero entry ends the table.
  const table = new Uint8Array(new ArrayBuffer(2 * SERVICE_TABLE_ENTRYW.size));
  new Instance(SERVICE_TABLE_ENTRYW, table)
    .set("lpServiceName", name)
    .set("lpServiceProc", main.pointer);
  // Returns when the service has stopped, or at once without a manager. Windows reads the table
  // until then.
  advapi.StartServiceCtrlDispatcherW(table).then(() => {
    table.fill(0);
    begun.resolve(false);
  });
  if (!await begun.promise) {
    main.close();
    handler.close();
    library.close();
    return undefined;
  }
  // Windows may call at any time, so callbacks and library stay until the process ends.
  return {
    ready: () => report(State.running),
    stopping: (grace_s) => report(State.stop_pending, grace_s + STOP_MARGIN_S),
    stopped: () => report(State.stopped),
  };
}
