/**
 * Job objects: a program's job includes all it starts, and ends with it. The process id identifies
 * the job.
 */
import { openLibrary } from "./libraries.ts";
import { JOBOBJECT_EXTENDED_LIMIT_INFORMATION } from "./structures.ts";
import { Instance, wide } from "./structure.ts";

const PROCESS_TERMINATE = 0x0001;
const PROCESS_SET_QUOTA = 0x0100;
const JOB_OBJECT_TERMINATE = 0x0008;
const JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE = 0x2000;
/** Of JOBOBJECTINFOCLASS. */
const EXTENDED_LIMIT_INFORMATION_CLASS = 9;
/** For the processes of a terminated job. */
const EXIT_CODE = 1;

const SYMBOLS = {
  CreateJobObjectW: { parameters: ["pointer", "buffer"], result: "isize" },
  OpenJobObjectW: { parameters: ["u32", "i32", "buffer"], result: "isize" },
  SetInformationJobObject: {
    parameters: ["isize", "u32", "buffer", "u32"],
    result: "i32",
  },
  AssignProcessToJobObject: { parameters: ["isize", "isize"], result: "i32" },
  TerminateJobObject: { parameters: ["isize", "u32"], result: "i32" },
  OpenProcess: { parameters: ["u32", "i32", "u32"], result: "isize" },
  CloseHandle: { parameters: ["isize"], result: "i32" },
} as const;

/**
 * Puts a process and all it starts from now on into a job, which ends with this process.
 *
 * @returns what ends the job and kills the rest; undefined if Windows refuses, as for an ended
 * process
 */
export function openJob(pid: number): (() => void) | undefined {
  const library = openLibrary("kernel32", SYMBOLS);
  const kernel = library.symbols;
  const job = kernel.CreateJobObjectW(null, jobName(pid));
  const process = kernel.OpenProcess(PROCESS_TERMINATE | PROCESS_SET_QUOTA, 0, pid);
  const limits = new Instance(JOBOBJECT_EXTENDED_LIMIT_INFORMATION)
    .set("LimitFlags", JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE)
    .bytes;
  const done = job !== 0n && process !== 0n &&
    kernel.SetInformationJobObject(
        job,
        EXTENDED_LIMIT_INFORMATION_CLASS,
        limits,
        limits.length,
      ) !== 0 &&
    kernel.AssignProcessToJobObject(job, process) !== 0;
  if (process !== 0n) kernel.CloseHandle(process);
  const close = () => {
    if (job !== 0n) kernel.CloseHandle(job);
    library.close();
  };
  if (done) return close;
  close();
}

/** Kills everything in a process's job. @returns false if it has none */
export function killJob(pid: number): boolean {
  const library = openLibrary("kernel32", SYMBOLS);
  const kernel = library.symbols;
  try {
    const job = kernel.OpenJobObjectW(JOB_OBJECT_TERMINATE, 0, jobName(pid));
    if (job === 0n) return false;
    const killed = kernel.TerminateJobObject(job, EXIT_CODE) !== 0;
    kernel.CloseHandle(job);
    return killed;
  } finally {
    library.close();
  }
}

/** In this login session only; two daemons never have a job for the same process. */
function jobName(pid: number): Uint8Array<ArrayBuffer> {
  return wide(`Local\\svc-job-${Deno.pid}-${pid}`);
}
