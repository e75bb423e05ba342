"""Puts the page's PyTorch in place of PyTorch, in the process that imports this module.

Its products of matrices are NumPy's here, in place of the page's JavaScript.
"""

import numpy

from scratchformer_course import page_torch
from scratchformer_course.page_torch import products


class Numbers(numpy.ndarray):
    """What JavaScript gives in a page."""

    def to_py(self):
        return self


def product(left, right, n, k, m):
    """The product of two matrices whose rows stand one after another, the second one turned."""
    a = numpy.frombuffer(left).reshape(n, k)
    b = numpy.frombuffer(right).reshape(m, k)
    return (a @ b.T).reshape(-1).view(Numbers)


page_torch.install()
products.use_product(product)
NOT_HERE, LACKING = page_torch.NotInPage, page_torch.lacking
