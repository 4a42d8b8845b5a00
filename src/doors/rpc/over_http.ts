/** JSON-RPC in the body of a request. */
import { bodyRead } from "../../base/text_slices.ts";
import { BASE_HEADERS, JSON_HEADERS } from "../../net/answers.ts";
import { answer, type Answering } from "./codec.ts";

/** Answers a message or batch; 204 without an answer. */
export function rpcResponse(text: string, answering: Omit<Answering, "cut">): Promise<Response> {
  return new Promise((resolve, reject) => {
    const cutting = new AbortController();
    const cut = () => cutting.abort(new Error("the answer was not read"));
    answer(text, { ...answering, cut }, (said) => {
      const { body, read } = bodyRead(said, cutting.signal);
      resolve(new Response(body, { headers: JSON_HEADERS }));
      return read;
    }).then(() => resolve(new Response(null, { status: 204, headers: BASE_HEADERS })), reject);
  });
}
