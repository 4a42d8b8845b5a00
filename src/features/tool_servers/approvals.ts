import * as z from "zod";
import { SvcError } from "../../protocol/errors.ts";
import { atomicWrite, checkPrivate, readTextIfAny } from "../../os/files.ts";

const Approved = z.array(z.strictObject({
  directory: z.string(),
  /** Of the file's text, in hexadecimal. */
  sha256: z.string(),
  approved_at: z.string(),
}));

/** Records which policy files of projects a person has approved, by directory and content. */
export class ProjectApprovals {
  readonly #path: string;
  #writing: Promise<void> = Promise.resolve();

  constructor(path: string) {
    this.#path = path;
  }

  /** @throws {SvcError} like {@linkcode ProjectApprovals.add} */
  async has(directory: string, sha256: string): Promise<boolean> {
    const all = await this.#read();
    return all.some((it) => it.directory === directory && it.sha256 === sha256);
  }

  /**
   * @throws {SvcError} permission_denied if others can write the file; validation if it is damaged
   */
  add(directory: string, sha256: string): Promise<void> {
    const writing = this.#writing.then(async () => {
      if (await this.has(directory, sha256)) return;
      const approved_at = new Date().toISOString();
      const all = [...await this.#read(), { directory, sha256, approved_at }];
      await atomicWrite(this.#path, `${JSON.stringify(all, null, 2)}\n`, 0o600);
    });
    this.#writing = writing.catch(() => {});
    return writing;
  }

  async #read(): Promise<z.output<typeof Approved>> {
    if (!checkPrivate(this.#path, 0o600, "file")) return [];
    try {
      return Approved.parse(JSON.parse(await readTextIfAny(this.#path) ?? "[]"));
    } catch (cause) {
      throw new SvcError("validation", `${this.#path} is damaged`, {
        hint: "remove it; svc then asks again for each project",
        cause,
      });
    }
  }
}
