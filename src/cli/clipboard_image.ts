/** The image of the clipboard, from whichever program of the system gives it. */
import { startProgram } from "../os/start.ts";
import { which } from "../os/which.ts";
import { ATTACHED_BYTES_MAX, sizeText } from "../protocol/attachments.ts";
import { messageOf } from "../protocol/errors.ts";
import { env } from "./environment.ts";

const POWERSHELL =
  "$ErrorActionPreference = 'Stop'; Add-Type -AssemblyName System.Windows.Forms, " +
  "System.Drawing; $image = [System.Windows.Forms.Clipboard]::GetImage(); if ($image) { " +
  "$bytes = New-Object System.IO.MemoryStream; " +
  "$image.Save($bytes, [System.Drawing.Imaging.ImageFormat]::Png); " +
  "$bytes.WriteTo([Console]::OpenStandardOutput()) }";
const OF_POWERSHELL = ["-NoProfile", "-NonInteractive", "-STA", "-Command", POWERSHELL];

/** Programs that write the clipboard's image to their output. */
const PROGRAMS: readonly { program: string; args: string[]; when?: string }[] = [
  { program: "wl-paste", args: ["--no-newline", "--type", "image/png"], when: "WAYLAND_DISPLAY" },
  { program: "xclip", args: ["-selection", "clipboard", "-t", "image/png", "-o"], when: "DISPLAY" },
  { program: "pngpaste", args: ["-"] },
  // Also from Linux on Windows.
  { program: "powershell.exe", args: OF_POWERSHELL },
];
const ANSWER_MS = 10_000;

/** Returns the image of the clipboard, or why there is none. */
export async function clipboardImage(): Promise<{ data: Uint8Array } | { problem: string }> {
  const there = PROGRAMS.filter(({ program }) => which(program, env("PATH")) !== undefined);
  // A program of another display would only fail.
  const found = there.find(({ when }) => when === undefined || env(when) !== undefined) ?? there[0];
  if (found === undefined) {
    const names = "wl-paste, xclip, pngpaste or PowerShell";
    return { problem: `an image of the clipboard needs ${names}, and none is installed` };
  }
  try {
    const data = await outputOf(found.program, found.args);
    if (data === undefined) {
      return {
        problem: `the image of the clipboard has more than ${sizeText(ATTACHED_BYTES_MAX)}`,
      };
    }
    return data.length > 0 ? { data } : { problem: "the clipboard has no image" };
  } catch (error) {
    return { problem: `the clipboard cannot be read: ${messageOf(error)}` };
  }
}

/** Runs a program. @returns its output; undefined if it is longer than a message takes */
async function outputOf(program: string, args: string[]): Promise<Uint8Array | undefined> {
  const child = startProgram("the clipboard", program, {
    args,
    cwd: "/",
    stdin: "null",
    stdout: "piped",
    stderr: "null",
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of child.stdout) {
    size += part.length;
    if (size > ATTACHED_BYTES_MAX) {
      child.kill();
      await child.status;
      return undefined;
    }
    parts.push(part);
  }
  await child.status;
  const data = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    data.set(part, at);
    at += part.length;
  }
  return data;
}
