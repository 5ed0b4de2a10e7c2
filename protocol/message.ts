/** Messages that are told apart by their key `t`: one canonical map each, of exactly one shape. */
import * as z from 'zod'
import { decodeCanonical, type DecodeLimits, encodeCanonical, type Value } from './canonical.ts'
import { type Checked, pass, refuse } from './refusal.ts'

export interface MessageCodec<Message> {
  encode(message: Message): Uint8Array
  /** Refused as `message` where it is none of these. */
  parse(bytes: Uint8Array): Checked<Message>
}

export function messageCodec<Message extends { t: string }>(
  shapes: { readonly [T in Message['t']]: z.ZodType<Extract<Message, { t: T }>> },
  limits: DecodeLimits,
): MessageCodec<Message> {
  const byType = new Map<unknown, z.ZodType<Message>>(Object.entries(shapes))
  return {
    encode(message) {
      const shape: z.ZodType<unknown, Value> = shapes[message.t as Message['t']] as z.ZodType<unknown, Value>
      return encodeCanonical(z.encode(shape, message))
    },
    parse(bytes) {
      const decoded = decodeCanonical(bytes, limits)
      if (!decoded.ok) return decoded
      const { value } = decoded
      const t = typeof value === 'object' && value !== null && 't' in value ? value.t : undefined
      const checked = byType.get(t)?.safeParse(value)
      return checked?.success ? pass(checked.data) : refuse('message', typeof t === 'string' ? t : undefined)
    },
  }
}
