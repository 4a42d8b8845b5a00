/** A client of the Windows Service Control Manager. */
import { openLibrary } from "../../os/windows/libraries.ts";
import { SecurityAttributes } from "../../os/windows/security.ts";
import {
  Instance,
  type MemberValue,
  readWide,
  type Structure,
  wide,
} from "../../os/windows/structure.ts";
import {
  QUERY_SERVICE_CONFIGW,
  SC_ACTION,
  SERVICE_DELAYED_AUTO_START_INFO,
  SERVICE_DESCRIPTIONW,
  SERVICE_FAILURE_ACTIONS_FLAG,
  SERVICE_FAILURE_ACTIONSW,
  SERVICE_PRESHUTDOWN_INFO,
  SERVICE_STATUS,
  SERVICE_STATUS_PROCESS,
} from "../../os/windows/structures.ts";

const SC_MANAGER_CONNECT = 0x0001;
const SC_MANAGER_CREATE_SERVICE = 0x0002;
const QUERY_CONFIG = 0x0001;
const CHANGE_CONFIG = 0x0002;
const QUERY_STATUS = 0x0004;
const START = 0x0010;
const STOP = 0x0020;
const DELETE = 0x0001_0000;
const WRITE_DAC = 0x0004_0000;

const WIN32_OWN_PROCESS = 0x10;
const AUTO_START = 2;
const ERROR_NORMAL = 1;
const NO_CHANGE = 0xffff_ffff;
const CONTROL_STOP = 1;
const DACL_SECURITY_INFORMATION = 4;
/** The maximum for QueryServiceConfigW. */
const CONFIG_BYTES = 8 * 1024;
/** For ChangeServiceConfig2W. */
const INFO_DESCRIPTION = 1;
const INFO_FAILURE_ACTIONS = 2;
const INFO_DELAYED_AUTO_START = 3;
const INFO_FAILURE_ACTIONS_FLAG = 4;
const INFO_PRESHUTDOWN = 7;
const ACTION_RESTART = 1;
const STATE_STOPPED = 1;

const ADVAPI = {
  OpenSCManagerW: { parameters: ["pointer", "pointer", "u32"], result: "isize" },
  OpenServiceW: { parameters: ["isize", "buffer", "u32"], result: "isize" },
  CreateServiceW: {
    parameters: [
      "isize",
      "buffer",
      "buffer",
      "u32",
      "u32",
      "u32",
      "u32",
      "buffer",
      "pointer",
      "pointer",
      "pointer",
      "buffer",
      "buffer",
    ],
    result: "isize",
  },
  ChangeServiceConfigW: {
    parameters: [
      "isize",
      "u32",
      "u32",
      "u32",
      "buffer",
      "pointer",
      "pointer",
      "pointer",
      "pointer",
      "pointer",
      "pointer",
    ],
    result: "i32",
  },
  ChangeServiceConfig2W: { parameters: ["isize", "u32", "buffer"], result: "i32" },
  QueryServiceConfigW: { parameters: ["isize", "buffer", "u32", "buffer"], result: "i32" },
  QueryServiceStatusEx: {
    parameters: ["isize", "u32", "buffer", "u32", "buffer"],
    result: "i32",
  },
  SetServiceObjectSecurity: { parameters: ["isize", "u32", "pointer"], result: "i32" },
  StartServiceW: { parameters: ["isize", "u32", "pointer"], result: "i32" },
  ControlService: { parameters: ["isize", "u32", "buffer"], result: "i32" },
  DeleteService: { parameters: ["isize"], result: "i32" },
  CloseServiceHandle: { parameters: ["isize"], result: "i32" },
} as const;

export interface ScmService {
  /** A quoted path with arguments. */
  command: string;
  account: string;
  automatic: boolean;
  /** Also while it starts or stops. */
  running: boolean;
  pid?: number;
}

interface NewScmService {
  display_name: string;
  description: string;
  command: string;
  account: string;
  password: string;
  /** Its permissions, as SDDL. */
  security: string;
  /** How long it may take to stop at a shutdown. */
  preshutdown_ms: number;
  /** Delay of a restart after a failure. */
  restart_ms: number;
  /** Seconds until a failure is forgotten. */
  reset_s: number;
}

/**
 * One service. Methods return whether Windows succeeded; its reason cannot be read reliably here.
 */
export class Scm {
  readonly #library = openLibrary("advapi32", ADVAPI);
  readonly #advapi = this.#library.symbols;
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  /** @returns undefined if the service does not exist */
  query(): ScmService | undefined {
    return this.#with(QUERY_CONFIG | QUERY_STATUS, (service) => {
      const bytes = new Uint8Array(new ArrayBuffer(CONFIG_BYTES));
      const needed = new Uint8Array(new ArrayBuffer(4));
      if (!this.#advapi.QueryServiceConfigW(service, bytes, bytes.length, needed)) return;
      const config = new Instance(QUERY_SERVICE_CONFIGW, bytes);
      const status = new Instance(SERVICE_STATUS_PROCESS);
      const { bytes: into } = status;
      if (!this.#advapi.QueryServiceStatusEx(service, 0, into, into.length, needed)) return;
      const pid = status.number("dwProcessId");
      return {
        command: readWide(config.pointer("lpBinaryPathName")!),
        account: readWide(config.pointer("lpServiceStartName")!),
        automatic: config.number("dwStartType") === AUTO_START,
        running: status.number("dwCurrentState") !== STATE_STOPPED,
        ...(pid === 0 ? {} : { pid }),
      };
    });
  }

  create(options: NewScmService): boolean {
    const manager = this.#open(SC_MANAGER_CREATE_SERVICE);
    if (manager === 0n) return false;
    const service = this.#advapi.CreateServiceW(
      manager,
      wide(this.#name),
      wide(options.display_name),
      CHANGE_CONFIG | DELETE | WRITE_DAC,
      WIN32_OWN_PROCESS,
      AUTO_START,
      ERROR_NORMAL,
      wide(options.command),
      null,
      null,
      null,
      wide(options.account),
      wide(options.password),
    );
    this.#advapi.CloseServiceHandle(manager);
    if (service === 0n) return false;
    try {
      const configured = this.#configure(service, options);
      // Leaves no half-configured service.
      if (!configured) this.#advapi.DeleteService(service);
      return configured;
    } finally {
      this.#advapi.CloseServiceHandle(service);
    }
  }

  /** The account stays. */
  setCommand(command: string): boolean {
    return this.#with(CHANGE_CONFIG, (service) =>
      this.#advapi.ChangeServiceConfigW(
        service,
        NO_CHANGE,
        NO_CHANGE,
        NO_CHANGE,
        wide(command),
        null,
        null,
        null,
        null,
        null,
        null,
      ) !== 0) ?? false;
  }

  start(): boolean {
    return this.#with(START, (service) => this.#advapi.StartServiceW(service, 0, null) !== 0) ??
      false;
  }

  /** Requests a stop, which takes time. */
  stop(): boolean {
    const { bytes } = new Instance(SERVICE_STATUS);
    return this.#with(
      STOP,
      (service) => this.#advapi.ControlService(service, CONTROL_STOP, bytes) !== 0,
    ) ?? false;
  }

  /** Removes it once it has stopped. */
  delete(): boolean {
    return this.#with(DELETE, (service) => this.#advapi.DeleteService(service) !== 0) ?? false;
  }

  close(): void {
    this.#library.close();
  }

  #configure(service: bigint, options: NewScmService): boolean {
    const actions = new Instance(SC_ACTION)
      .set("Type", ACTION_RESTART).set("Delay", options.restart_ms).bytes;
    const set = <Name extends string>(level: number, of: Structure<Name>, values: Values<Name>) => {
      const info = new Instance(of);
      for (const [name, value] of Object.entries(values) as [Name, MemberValue][]) {
        info.set(name, value);
      }
      return this.#advapi.ChangeServiceConfig2W(service, level, info.bytes) !== 0;
    };
    return [
      set(INFO_DESCRIPTION, SERVICE_DESCRIPTIONW, {
        lpDescription: wide(options.description),
      }),
      set(INFO_DELAYED_AUTO_START, SERVICE_DELAYED_AUTO_START_INFO, { fDelayedAutostart: 1 }),
      set(INFO_FAILURE_ACTIONS, SERVICE_FAILURE_ACTIONSW, {
        dwResetPeriod: options.reset_s,
        cActions: 1,
        lpsaActions: actions,
      }),
      // Also for an exit code, not only for a crash.
      set(INFO_FAILURE_ACTIONS_FLAG, SERVICE_FAILURE_ACTIONS_FLAG, {
        fFailureActionsOnNonCrashFailures: 1,
      }),
      set(INFO_PRESHUTDOWN, SERVICE_PRESHUTDOWN_INFO, {
        dwPreshutdownTimeout: options.preshutdown_ms,
      }),
      this.#setSecurity(service, options.security),
    ].every(Boolean);
  }

  #setSecurity(service: bigint, sddl: string): boolean {
    const security = new SecurityAttributes(sddl);
    try {
      const { descriptor } = security;
      const set = this.#advapi.SetServiceObjectSecurity;
      return set(service, DACL_SECURITY_INFORMATION, descriptor) !== 0;
    } finally {
      security.free();
    }
  }

  /** @returns undefined without such a service or without the rights */
  #with<T>(rights: number, use: (service: bigint) => T): T | undefined {
    const manager = this.#open(SC_MANAGER_CONNECT);
    if (manager === 0n) return undefined;
    const service = this.#advapi.OpenServiceW(manager, wide(this.#name), rights);
    this.#advapi.CloseServiceHandle(manager);
    if (service === 0n) return undefined;
    try {
      return use(service);
    } finally {
      this.#advapi.CloseServiceHandle(service);
    }
  }

  #open(rights: number): bigint {
    return this.#advapi.OpenSCManagerW(null, null, rights);
  }
}

type Values<Name extends string> = Partial<Record<Name, MemberValue>>;
