import { deadline } from "@std/async";

/** Connects over TCP within `ms`. @throws the system's error; {DOMException} TimeoutError */
export async function connectWithin(to: Deno.ConnectOptions, ms: number): Promise<Deno.TcpConn> {
  const connecting = Deno.connect(to);
  try {
    return await deadline(connecting, ms);
  } catch (error) {
    connecting.then((late) => late.close(), () => {});
    throw error;
  }
}
