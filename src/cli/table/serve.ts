import { command } from "../define.ts";
import { RESTART, SERVE } from "./serve_spec.ts";

export const serve = command(SERVE, async () => (await import("../serve.ts")).run, {
  restart: command(RESTART, async () => (await import("../serve.ts")).restart),
});
