"""What Nikola's settings load: the key page's neighbours, as the variant has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def alone(key: str, variant: str) -> Callable[[dict[str, Any], str], None]:
    """What takes the neighbours of the post with a source away, if the variant is the empty one."""

    def prepare(context: dict[str, Any], _template: str) -> None:
        post = context.get("post")
        if variant == "empty" and post is not None and post.source_path == key:
            post.prev_post = post.next_post = None

    return prepare
