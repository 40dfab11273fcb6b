"""The graph of a stack of layers, and the shortest way of a signal through it: Vaswani et al. (2017), section 4.

A node is a position of a layer; layer 0 holds the inputs. All layers are causal: a position reads itself and earlier
ones.

Chapter: book/complexity.
"""

from typing import Literal, get_args

from companion.checks import check_sizes

Connection = Literal["self-attention", "recurrent", "convolution", "dilated", "window"]
"""What joins the positions of neighbouring layers."""

Node = tuple[int, int]


def shortest_path(kind: Connection, n: int, *, size: int = 3, start: int = 0) -> list[Node]:
    """Find a shortest way from an input to the last of ``n`` positions, by breadth-first search.

    The layers are of one kind, and as many as it takes. A recurrent layer also has an edge from each state to the next,
    so its way leads through one layer. Of a dilated stack layer ``l`` reads at distances of ``size**(l - 1)``.

    >>> shortest_path("self-attention", 16)
    [(0, 0), (1, 15)]
    >>> len(shortest_path("dilated", 27, size=3)) - 1, len(shortest_path("convolution", 27, size=3)) - 1
    (3, 13)

    Args:
        kind: of the layers.
        n: positions.
        size: width of the kernel, or of the window; at least 2. Attention and recurrence have none.
        start: the position that the signal starts from.

    Returns:
        The nodes ``(layer, position)`` from the input to the end; one less is the length of the way.

    Raises:
        ValueError: a size is no size, the start is not a position, or there is no such kind.
    """
    check_sizes(n=n)
    check_sizes(2, size=size)
    if kind not in get_args(Connection):
        raise ValueError(f"kind is one of {', '.join(get_args(Connection))}: got {kind!r}. Use one of these.")
    if not 0 <= start < n:
        raise ValueError(f"start is one of the positions 0 to {n - 1}: got {start}. Count from 0.")
    before: dict[Node, Node | None] = {(0, start): None}
    front = [(0, start)]
    while True:
        following = []
        for node in front:
            for reached in _readers(kind, node, n, size):
                if reached in before:
                    continue
                before[reached] = node
                if reached[1] == n - 1:
                    return _way(before, reached)
                following.append(reached)
        front = following


def _readers(kind: Connection, node: Node, n: int, size: int) -> list[Node]:
    """List the nodes that read a node, the farthest position first."""
    layer, position = node
    if kind == "recurrent":
        return [(1, position)] if layer == 0 else [(1, position + 1)]
    step = size**layer if kind == "dilated" else 1
    far = n - 1 - position if kind == "self-attention" else (size - 1) * step
    return [(layer + 1, position + d) for d in range(far, -1, -step) if position + d < n]


def _way(before: dict[Node, Node | None], node: Node | None) -> list[Node]:
    """Walk back from a node to the start, and turn the way round."""
    way = []
    while node is not None:
        way.append(node)
        node = before[node]
    return way[::-1]
