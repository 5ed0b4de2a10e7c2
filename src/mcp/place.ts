/** Where an answer ended early: the node's own cursor, what was shown of its page, and how far into a long content. */
import * as z from 'zod'
import { ApiError } from '../rpc/client.ts'

const shape = z.strictObject({
  /** The node's cursor for the page; absent for its first one. */
  page: z.string().optional(),
  /** The last item of the page that was shown whole. */
  after: z.string().optional(),
  /** Characters of the next item's content that were shown already. */
  offset: z.int().min(0).optional(),
})
export type Place = z.infer<typeof shape>

export function encodePlace(place: Place): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url')
}

/** @throws ApiError invalid_params */
export function parsePlace(cursor: string | undefined): Place {
  if (cursor === undefined) return {}
  try {
    return shape.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()))
  } catch (cause) {
    throw new ApiError('invalid_params', 'cursor is not one that this tool gave out', {
      hint: 'Use next_cursor of the last answer as it is, or leave cursor out to start at the beginning.',
      cause,
    })
  }
}
