/** The structures that svc passes to Windows, named as in its documentation. */
import { structure } from "./structure.ts";

export const SECURITY_ATTRIBUTES = structure({
  nLength: "u32",
  lpSecurityDescriptor: "pointer",
  bInheritHandle: "u32",
});

/** IO_STATUS_BLOCK: how an overlapped operation ended, and how many bytes it moved. */
export const IO_STATUS_BLOCK = structure({ Status: "u64", Information: "u64" });

export const TOKEN_USER = structure({ Sid: "pointer", Attributes: "u32" });

/** JOBOBJECT_BASIC_LIMIT_INFORMATION, IO_COUNTERS and what follows them, as one. */
export const JOBOBJECT_EXTENDED_LIMIT_INFORMATION = structure({
  PerProcessUserTimeLimit: "u64",
  PerJobUserTimeLimit: "u64",
  LimitFlags: "u32",
  MinimumWorkingSetSize: "u64",
  MaximumWorkingSetSize: "u64",
  ActiveProcessLimit: "u32",
  Affinity: "u64",
  PriorityClass: "u32",
  SchedulingClass: "u32",
  ReadOperationCount: "u64",
  WriteOperationCount: "u64",
  OtherOperationCount: "u64",
  ReadTransferCount: "u64",
  WriteTransferCount: "u64",
  OtherTransferCount: "u64",
  ProcessMemoryLimit: "u64",
  JobMemoryLimit: "u64",
  PeakProcessMemoryUsed: "u64",
  PeakJobMemoryUsed: "u64",
});

export const SERVICE_TABLE_ENTRYW = structure({
  lpServiceName: "pointer",
  lpServiceProc: "pointer",
});

export const SERVICE_STATUS = structure({
  dwServiceType: "u32",
  dwCurrentState: "u32",
  dwControlsAccepted: "u32",
  dwWin32ExitCode: "u32",
  dwServiceSpecificExitCode: "u32",
  dwCheckPoint: "u32",
  dwWaitHint: "u32",
});

export const SERVICE_STATUS_PROCESS = structure({
  dwServiceType: "u32",
  dwCurrentState: "u32",
  dwControlsAccepted: "u32",
  dwWin32ExitCode: "u32",
  dwServiceSpecificExitCode: "u32",
  dwCheckPoint: "u32",
  dwWaitHint: "u32",
  dwProcessId: "u32",
  dwServiceFlags: "u32",
});

export const QUERY_SERVICE_CONFIGW = structure({
  dwServiceType: "u32",
  dwStartType: "u32",
  dwErrorControl: "u32",
  lpBinaryPathName: "pointer",
  lpLoadOrderGroup: "pointer",
  dwTagId: "u32",
  lpDependencies: "pointer",
  lpServiceStartName: "pointer",
  lpDisplayName: "pointer",
});

export const SERVICE_DESCRIPTIONW = structure({ lpDescription: "pointer" });

export const SERVICE_DELAYED_AUTO_START_INFO = structure({ fDelayedAutostart: "u32" });

export const SERVICE_FAILURE_ACTIONSW = structure({
  dwResetPeriod: "u32",
  lpRebootMsg: "pointer",
  lpCommand: "pointer",
  cActions: "u32",
  lpsaActions: "pointer",
});

export const SC_ACTION = structure({ Type: "u32", Delay: "u32" });

export const SERVICE_FAILURE_ACTIONS_FLAG = structure({
  fFailureActionsOnNonCrashFailures: "u32",
});

export const SERVICE_PRESHUTDOWN_INFO = structure({ dwPreshutdownTimeout: "u32" });

export const LSA_OBJECT_ATTRIBUTES = structure({
  Length: "u32",
  RootDirectory: "pointer",
  ObjectName: "pointer",
  Attributes: "u32",
  SecurityDescriptor: "pointer",
  SecurityQualityOfService: "pointer",
});

export const LSA_UNICODE_STRING = structure({
  Length: "u16",
  MaximumLength: "u16",
  Buffer: "pointer",
});
